-- The epoch of the store, which begins with the given one where it is empty.
-- KEYS: epoch. ARGV: an epoch to begin with.
redis.call('SET', KEYS[1], ARGV[1], 'NX')
return redis.call('GET', KEYS[1])
