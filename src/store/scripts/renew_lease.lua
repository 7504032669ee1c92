-- Renews the lease of a replica. Returns the epoch, then the id and the manifest of each replica that lives.
-- KEYS: epoch, replicas. ARGV: the replica, its manifest, how many ms it lives, an epoch to begin with.
redis.call('SET', KEYS[1], ARGV[4], 'NX')
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('HSET', KEYS[2], ARGV[1], string.format('%.0f %s', now + tonumber(ARGV[3]), ARGV[2]))
redis.call('PEXPIRE', KEYS[1], 86400000)
redis.call('PEXPIRE', KEYS[2], ARGV[3])
local living = { redis.call('GET', KEYS[1]) }
local replicas = redis.call('HGETALL', KEYS[2])
for at = 1, #replicas, 2 do
  local ends, manifest = string.match(replicas[at + 1], '^(%d+) (.*)$')
  if ends and tonumber(ends) > now then
    living[#living + 1] = replicas[at]
    living[#living + 1] = manifest
  else
    redis.call('HDEL', KEYS[2], replicas[at])
  end
end
return living
