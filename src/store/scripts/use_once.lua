-- Whether an id is used for the first time: 0 yes, 1 no, 2 it is older than what the store remembers.
-- KEYS: epoch, id. ARGV: the epoch of the id, when it may be forgotten in ms since 1970, an epoch to begin with, this attempt.
redis.call('SET', KEYS[1], ARGV[3], 'NX')
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 2
end
if redis.call('SET', KEYS[2], ARGV[4], 'NX', 'PXAT', ARGV[2]) then
  return 0
end
return 1
