-- Counts a call, and returns 0, or how many microseconds to wait.
-- KEYS: the times of the last calls, oldest first. ARGV: how many calls there may be, within how many microseconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local calls, per = tonumber(ARGV[1]), tonumber(ARGV[2])
local first = redis.call('LINDEX', KEYS[1], -calls)
if first and now - tonumber(first) < per then
  return tonumber(first) + per - now
end
redis.call('RPUSH', KEYS[1], string.format('%.0f', now))
redis.call('LTRIM', KEYS[1], -calls, -1)
redis.call('PEXPIRE', KEYS[1], math.ceil(per / 1000))
return 0
