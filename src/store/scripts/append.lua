-- Adds a value to a stream.
-- KEYS: the stream. ARGV: who adds it, the value, how many are kept, for how many ms, about how many bytes.
redis.call('XADD', KEYS[1], 'MAXLEN', ARGV[3], '*', 'from', ARGV[1], 'message', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
local length = redis.call('XLEN', KEYS[1])
while length > 1 and redis.call('MEMORY', 'USAGE', KEYS[1]) > tonumber(ARGV[5]) do
  length = math.floor(length / 2)
  redis.call('XTRIM', KEYS[1], 'MAXLEN', length)
end
