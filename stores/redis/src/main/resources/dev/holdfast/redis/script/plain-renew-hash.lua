-- Included by plain-renew.lua. Renews a grant if nothing changes but its end, and the record outlives that. Returns the
-- counter, since and ENDS; nothing in any other case.
local function renew_unchanged(key, record, at)
  if redis.pcall('HLEN', key) ~= 1 or redis.pcall('HEXISTS', key, ARGV[at]) ~= 1 then
    return
  end
  local f = redis.pcall('HMGET', record, 'holder', 'counter', 'kept')
  local counter, since, ends = unchanged(f[1], at)
  if counter and is_kept(f[2], f[3], ARGV[at + 3]) and prolong_lock(key, ARGV[at + 3]) then
    return counter, since, ends
  end
end
