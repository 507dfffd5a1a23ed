-- Included by release.lua and plain-release.lua. The acquire of this claim may still arrive, and must be refused then.
local function put_tombstone(r, c)
  local MAX_TOMBS = 1000
  local ends = now + c.lease * 1000
  -- The first write needs no memory; see renew.lua.
  local another = 1 - redis.call('HDEL', r.key, '!' .. c.id)
  redis.call('HSET', r.key, '!' .. c.id, string.format('%d', ends))
  r.tombs, r.changed = math.max(r.tombs, ends), true
  local count = redis.pcall('HINCRBY', r.key, 'graves', another)
  if type(count) == 'table' or count > MAX_TOMBS then -- It is an error if the field is no number; a sweep counts again.
    queue().sweep(r)
  end
end
