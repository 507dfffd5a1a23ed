-- Included by plain-renew.lua. Renews a grant if nothing changes but its end, the time stamp is the one that was written
-- for it, and the record outlives it. Returns the counter, since and ENDS; nothing in any other case.
local unit, named = string.match(ARGV[#ARGV], '^(%d+) ([01])$')

local function renew_unchanged(key, record, at)
  local value, f = redis.pcall('GET', key), redis.pcall('HMGET', record, 'holder', 'counter', 'kept', 'stamp', 'until')
  local counter, since, ends = unchanged(f[1], at)
  local last = counter and value and value == f[4] and string.match(f[5] or '', '^%d+$')
  local over = sent + ARGV[at + 3] * 1000
  if last and last - sent > 0 and over - last >= 0 and is_kept(f[2], f[3], ARGV[at + 3]) then
    local stamp = string.format('%.0f', math.ceil(over / unit)) .. (named == '1' and '|' .. ARGV[at] or '')
    if redis.pcall('SET', key, stamp).ok
      and type(redis.pcall('HSET', record, 'stamp', stamp, 'until', string.format('%.0f', over))) == 'number'
    then
      return counter, since, ends
    end
  end
end
