"""Tasks of one of two replicas at the other, while nobody else calls: how they end, and when one is stopped or serves another
edition."""

from collections import Counter

from replicas_clients import ACCEPT, ModernClient
from replicas_redis import poll
from replicas_world import Replica, World
from served import Failed

QUIET_TASKS = 20
"""How many end one by one, and how many at once: each has the chance to end while the store is told of something else."""
WITHIN = 5.0
"""Within so many seconds the other replica knows what a task does."""
STEPS = """
      - { sleep: 100ms }
      - { id: sure, ask: { answer: { elicit: { message: "sure?", schema: { yes: { type: boolean } } } } } }
      - { exec: [sh, -c, 'echo "$0" >> ACTS', "{{id}}"] }"""
TASK = f"""
  long:
    description: Notes an id
    arguments: {{ id: {{ required: true }}, why: {{}} }}
    task: required
    run:{STEPS}
    result: {{ text: "{{{{id}}}}" }}"""
OTHER = """
  wait: { description: Waits, task: optional, run: { sleep: 1ms }, result: { text: waited } }"""
EDITIONS = {
    "like its own": TASK + OTHER,
    "in another order": OTHER + TASK,
    "with another schema": TASK.replace("why: {}", "why: { type: integer, required: true }") + OTHER,
    "with other steps": TASK.replace("      - { sleep: 100ms }\n", "").replace('"{{id}}"]', "other]") + OTHER,
    "with another question": TASK.replace("sure?", "other?").replace("{ yes:", "{ no:") + OTHER,
    "without the tool": OTHER,
    "without any task": "",
}


class TaskWorld(World):
    """Its editions are those above."""

    def manifest(self, edition):
        head = super().manifest(edition).partition("\n  echo:")[0]
        return head + list(EDITIONS.values())[edition].replace("ACTS", str(self.acts)) + "\n"


class TaskClient(ModernClient):
    def begin(self, to, identity):
        begun = self.request("tools/call", {"name": "long", "arguments": {"id": identity, "why": "so"}}, to=to)
        if "taskId" not in (begun.result or {}):
            raise Failed(f"{identity} does not begin: {begun}")
        return begun.result["taskId"]

    def wait(self, task, status, at):
        """Asks a replica until the task is in this status, and none but those on the way to it."""
        def is_there():
            asked = self.request("tasks/get", {"taskId": task}, to=at)
            said = (asked.result or {}).get("status")
            if said not in ("working", "input_required", status):
                raise Failed(f"a task is to be {status}: {asked}")
            return asked.result if said == status else None
        return poll(f"a task is {status}", is_there, WITHIN)

    def tell(self, method, params, at):
        told = self.request(method, params, to=at)
        if told.result is None:
            raise Failed(f"{method} is answered with {told}")

    def answer(self, task, at):
        asked = self.wait(task, "input_required", at)
        if [request["params"]["message"] for request in asked["inputRequests"].values()] != ["sure?"]:
            raise Failed(f"a task asks something else: {asked}")
        self.tell("tasks/update", {"taskId": task, "inputResponses": {key: ACCEPT for key in asked["inputRequests"]}}, at)

    def finish(self, task, identity, at):
        ended = self.wait(task, "completed", at)
        if [content["text"] for content in ended["result"]["content"]] != [identity]:
            raise Failed(f"{identity} has another result: {ended}")

    def serves(self, replica, edition):
        listed = self.request("tools/list", {}, to=replica.process).result["tools"]
        return any(tool["name"] == f"edition-{edition}" for tool in listed)


def edit(client, replica, edition):
    if replica.edition != edition:
        replica.edit(edition)
        poll("an edition is served", lambda: client.serves(replica, edition))


def check_edition(client, edition, one, other):
    """A task that one replica runs is asked for, answered and cancelled at the other, which serves another edition."""
    edit(client, one, 0)
    edit(client, other, edition)
    kept, left, cancelled = (f"{what}-{edition}" for what in ("kept", "left", "cancelled"))
    task = client.begin(one.process, kept)
    if not list(EDITIONS.values())[edition]:
        refused = client.request("tasks/get", {"taskId": task}, to=other.process)
        if refused.error.get("message") != "capability `io.modelcontextprotocol/tasks` is not declared":
            raise Failed(f"a replica that knows no tasks answers with {refused}")
        client.answer(task, one.process)
        client.finish(task, kept, one.process)
        return [kept]
    client.answer(task, other.process)
    client.finish(task, kept, other.process)
    client.finish(task, kept, one.process)
    task = client.begin(one.process, cancelled)
    client.wait(task, "input_required", other.process)
    client.tell("tasks/cancel", {"taskId": task}, other.process)
    client.wait(task, "cancelled", other.process)
    # Its own replica is edited while it waits.
    task = client.begin(one.process, left)
    client.wait(task, "input_required", one.process)
    edit(client, one, edition)
    client.answer(task, other.process)
    client.finish(task, left, other.process)
    return [kept, left]


def check_quiet_tasks(client, one, other):
    """Tasks one by one: of each the other replica hears by itself."""
    identities = [f"quiet-{number}" for number in range(QUIET_TASKS)]
    for identity in identities:
        task = client.begin(one.process, identity)
        client.answer(task, other.process)
        client.finish(task, identity, other.process)
    return identities


def check_drained_tasks(client, one, other):
    """Tasks that wait for answers when their replica is stopped."""
    tasks = [client.begin(one.process, f"drained-{number}") for number in range(QUIET_TASKS)]
    for task in tasks:
        client.wait(task, "input_required", other.process)
    one.process.stop()
    for task in tasks:
        client.wait(task, "cancelled", other.process)
    one.start()


def check_tasks(binary, place):
    world = TaskWorld(binary, place, 0)
    try:
        world.replicas = [Replica(world, number) for number in range(2)]
        one, other = world.replicas
        client = TaskClient(world, "tasks")
        expected = check_quiet_tasks(client, one, other)
        check_drained_tasks(client, one, other)
        for edition in range(len(EDITIONS)):
            expected += check_edition(client, edition, one, other)
        acted = Counter(world.acts.read_text().split())
        if acted != Counter(expected):
            raise Failed(f"done: {acted}; to be done: {expected}")
        print(f"tasks at another replica: {len(expected)}, with {len(EDITIONS)} editions", flush=True)
    except Failed as failed:
        raise Failed(f"{failed}; the other replica has a manifest {list(EDITIONS)[other.edition]}") from None
    finally:
        world.end()
