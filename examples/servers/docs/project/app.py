from store import Store


def handle(request, store: Store):
    if request.path == "/ready":
        return "ready"
    return store.get(request.tenant, request.key)
