-- Included by plain-renew.lua. Renews a grant if nothing changes but its end, and the record outlives that. Returns the
-- counter, since and ENDS; nothing in any other case.
local function renew_unchanged(key, record, at)
  local text = ARGV[at + 2] == '1' and redis.pcall('GET', key)
  local counter, since, ends = unchanged(text, at)
  local f = counter and redis.pcall('HMGET', record, 'counter', 'kept')
  if f and is_kept(f[1], f[2], ARGV[at + 3]) and prolong_lock(key, ARGV[at + 3]) then
    return counter, since, ends
  end
end
