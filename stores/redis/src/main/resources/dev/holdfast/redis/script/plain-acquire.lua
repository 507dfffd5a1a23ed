-- Grants the claim now or not at all, in the layouts of the plain package: in its FORM if it is
-- exclusive (limit 1), else as a grant in the record.
--
-- KEYS  1 the lock, 2 the record; of a hash also 3 the queue of a fair lock
-- ARGV  see record.lua; one claim
-- Reply {1, counter, left in us, since}     granted, or already held; since is 0 unless this call made the grant
--       {0, us until the first end, 0, 0}   busy; nothing was granted; 0 us if the end is not known
--       {3, limit in use, 0, 0}             in use as another kind
--       {4, permits held, limit, 0}         already holds fewer permits than it asks for
-- Cost  O(1), 4 commands on a free name, 7 if it is a hash, 11 if it is a time stamp; 5 on a busy string, 6 on a busy hash;
--       else O(grants) when one may be over
-- include plain-take-FORM.lua
local state = ARGV[4] == '1' and redis.call('HMGET', KEYS[2], 'counter', 'use', 'kept')
local last = state and tonumber(state[1] or 0)
if last and last <= 2 ^ 53 and not state[2] then
  local clock = redis.call('TIME')
  local now = clock[1] * 1000000 + clock[2]
  local ends, kept = now + ARGV[5] * 1000, tonumber(state[3])
  local counter = now > last and now or last + 1
  local since = string.format('%d', now)
  local number = counter == now and since or string.format('%d', counter)
  local text = 'holdfast1 ' .. ARGV[2] .. ' ' .. number .. ' ' .. since .. ' ' .. string.format('%d', ends) .. ' ' .. ARGV[5] ..
    '\n' .. ARGV[7]
  local is_taken, left = take(text)
  if is_taken then
    if kept and ends <= kept and kept <= 2 ^ 53 then
      redis.call('HSET', KEYS[2], 'counter', number)
    else
      local keep = string.match(ARGV[1], '%d+$')
      redis.call('HSET', KEYS[2], 'counter', number, 'kept', string.format('%d', ends + keep * 1000))
      redis.call('PEXPIRE', KEYS[2], ARGV[5] + 2 * keep)
    end
    return { 1, counter, ARGV[5] * 1000, now }
  elseif left and left > 0 then
    return { 0, left * 1000, 0, 0 }
  end
end
local clock
-- include record.lua
-- include resize.lua
-- include plain-FORM.lua

-- Returns the time left in microseconds; 0 if it is not known, because the lock of another program has no end.
local function left_of(key)
  return math.max(0, millis_left(key, KEYS[2])) * 1000
end

local c, r = claim_at(1), open(KEYS[2], ARGV[2])
local text, p, lost = look(KEYS[1], r.key)
local mine = p and p.id == c.id and not lost
if not mine then
  check_queue()
end
settle(r)
local held = r.grant and grant_of(r, r.grant)
local code, a, b, since = 0, 0, 0, 0
if mine then
  if c.limit == 1 then
    code, a, b = 1, p.counter, left_of(KEYS[1])
  else
    code, a, b = 4, 1, 1
  end
elseif held then
  local g = resize(r, held, c)
  if g then
    code, a, b = 1, g.counter, g.ends - now
  else
    code, a, b = 4, held.permits, r.limit
  end
elseif text and c.limit ~= 1 then
  code, a = 3, 1
elseif not is_free(r) and r.limit ~= c.limit then
  code, a = 3, r.limit
elseif text then
  a = left_of(KEYS[1])
elseif has_tombstone(r, c.id) or not fits(r, c) then
  a = until_first(r)
elseif c.limit == 1 then
  local counter = next_counter(r)
  put(KEYS[1], r.key, { id = c.id, counter = counter, since = now, ends = now + c.lease * 1000, lease = c.lease,
    owner = c.owner }, nil, c.lease)
  r.counter, r.changed = string.format('%d', counter), true
  code, a, b, since = 1, counter, c.lease * 1000, now
else
  r.limit = c.limit
  code, a, b = 1, grant(r, c.id, c, c.lease), c.lease * 1000
end
close(r, c.lease + ticket)
return { code, a, b, since }
