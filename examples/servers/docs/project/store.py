class Store:
    def __init__(self):
        self.entries = {}

    def get(self, tenant, key):
        return self.entries[tenant][key]  # a KeyError for a tenant that has no entries yet
