-- Included by plain-release.lua. Returns whether the claim holds the lock; then its field.
local function is_held(id)
  if string.sub(id, 1, 8) == 'foreign-' and redis.call('HLEN', KEYS[1]) == 1 then
    local field = redis.call('HKEYS', KEYS[1])[1]
    return id == 'foreign-' .. redis.sha1hex(field) .. '.0', field
  end
  return redis.call('HEXISTS', KEYS[1], id) == 1, id
end

-- Ends the lock, and publishes what Redisson's clients wait for. Nodes of a cluster that know no sharded channels have
-- plain ones. A user who may not publish can release nevertheless.
local function finish(field)
  redis.call('HDEL', KEYS[1], field)
  local reply = redis.pcall(ARGV[5], ARGV[6], '0')
  if type(reply) == 'table' and ARGV[5] == 'SPUBLISH' then
    redis.pcall('PUBLISH', ARGV[6], '0')
  end
end
