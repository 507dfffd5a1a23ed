-- Included by plain-acquire.lua. Takes the lock for a new grant, if it is free. Returns whether it was.
local function take(text)
  return redis.call('SET', KEYS[1], text, 'NX', 'PX', ARGV[5])
end
