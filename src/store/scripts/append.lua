-- Adds a value to a stream.
-- KEYS: the stream. ARGV: who adds it, the value, how many are kept, for how many ms.
redis.call('XADD', KEYS[1], 'MAXLEN', ARGV[3], '*', 'from', ARGV[1], 'message', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
