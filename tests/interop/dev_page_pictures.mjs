// The pictures of the page: eight states in two sizes, light and dark.

import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";

import { FILES, HELLO } from "./dev_page_fixtures.mjs";
import { check, choose, closeDrawer, drawer, field, form, open, openDrawer, result, runs, save, shows, view } from "./dev_page_server.mjs";

const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } };
const MAX_BYTES = 250_000;

/** In a narrow window the entries are behind a button. */
async function go(tab, id) {
  const entries = tab.getByRole("button", { name: "Entries" });
  if (await entries.isVisible()) await entries.click();
  await choose(tab, id);
  await tab.locator("main").focus();
}

/** Each state by its name: how one comes to it from any other, and back. */
const STATES = {
  async prompt(tab) {
    await go(tab, "review");
    await field(form(tab), "tone").selectOption({ label: "strict" });
    await shows(result(tab).locator(".message"), "Keep it strict");
  },
  async edit(tab, folder) {
    await go(tab, "review");
    await shows(result(tab).locator(".message"), "careful colleague");
    save(folder, FILES["prompts/review.md"].replace("a careful colleague", "a careful and kind colleague"), "prompts/review.md");
    await shows(result(tab).locator(".changed"), "kind colleague");
    await shows(result(tab).locator(".source-line.added"), "kind colleague");
    return () => save(folder, FILES["prompts/review.md"], "prompts/review.md");
  },
  async steps(tab) {
    await go(tab, "release");
    await field(form(tab), "version").fill("2.0");
    await runs(tab);
    await shows(result(tab), "Release 2.0");
    await view(tab, "Steps").click();
    await shows(tab.locator(".result-panel"), "publish");
    return () => view(tab, "Rendered").click();
  },
  async table(tab) {
    await go(tab, "sizes");
    await runs(tab);
    await result(tab).getByRole("table", { name: "files" }).waitFor();
  },
  async question(tab) {
    await go(tab, "confirm");
    await runs(tab);
    const question = tab.getByRole("form", { name: "The server asks" });
    await question.waitFor();
    return () => question.getByRole("button", { name: "Cancel" }).click();
  },
  async problems(tab, folder) {
    await go(tab, "greet");
    save(folder, HELLO.replace("{{who}}", "{{whom}}"));
    await openDrawer(tab, "Problems");
    await shows(drawer(tab), "whom");
    return () => (save(folder, HELLO), closeDrawer(tab));
  },
  async tests(tab, folder) {
    await go(tab, "greet");
    await field(form(tab), "who").fill("Ada");
    save(folder, HELLO.replace("a {{style}} hello", "a {{style}} farewell"));
    await openDrawer(tab, "Tests");
    await shows(tab.locator(".drawer-bar"), "1 failed");
    await drawer(tab).getByText("greets warmly").first().click();
    await shows(drawer(tab), "a warm farewell to Ada");
    return () => (save(folder, HELLO), closeDrawer(tab));
  },
  async calls(tab) {
    await go(tab, "release");
    await runs(tab);
    await shows(result(tab), "Release 2.0");
    await openDrawer(tab, "Calls");
    await drawer(tab).getByText("release", { exact: true }).first().click();
    await shows(drawer(tab), "publish");
    return () => closeDrawer(tab);
  },
};

/** Makes them all in a folder. */
export async function takePictures(browser, address, folder, place) {
  mkdirSync(place, { recursive: true });
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const colorScheme of ["light", "dark"]) {
      const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" });
      const { tab, faults } = await open(context, address);
      for (const [name, reach] of Object.entries(STATES)) {
        const back = await reach(tab, folder);
        await tab.mouse.move(0, 0);
        const path = join(place, `${name}-${size}-${colorScheme}.png`);
        await tab.screenshot({ path });
        check(`${name} is pictured, ${size}, ${colorScheme}`, statSync(path).size < MAX_BYTES, statSync(path).size);
        await back?.();
      }
      check("nothing is amiss in the pictures", faults.length === 0, faults);
      await context.close();
    }
  }
}
