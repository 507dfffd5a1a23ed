-- Included by plain-release.lua. Returns whether the claim holds the lock.
local function is_held(id)
  local text = redis.call('GET', KEYS[1])
  local head = 'holdfast1 ' .. id .. ' '
  return text and (string.sub(text, 1, #head) == head
    or string.sub(id, 1, 8) == 'foreign-' and id == 'foreign-' .. redis.sha1hex(text) .. '.0')
end

local function finish()
  redis.call('DEL', KEYS[1])
end
