-- Takes back that an id was used, if that was this attempt.
-- KEYS: id. ARGV: the attempt.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
