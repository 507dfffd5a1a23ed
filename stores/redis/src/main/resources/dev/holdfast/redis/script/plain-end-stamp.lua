-- Included by plain-release.lua. Returns whether the claim holds the lock; then its id.
-- include plain-stamp.lua
local function is_held(id)
  local value = string.sub(id, 1, 8) == 'foreign-' and redis.call('GET', KEYS[1])
  if value then
    return id == 'foreign-' .. redis.sha1hex(value) .. '.0', id
  end
  local _, p = look(KEYS[1], KEYS[2], id)
  return p and p.id == id, id
end

-- Ends the lock.
local function finish(id)
  redis.call('DEL', KEYS[1])
  if string.sub(id, 1, 8) ~= 'foreign-' then
    forget(KEYS[2])
  end
end
