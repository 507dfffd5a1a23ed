-- Included by the scripts of the plain package: an exclusive lock that is the time stamp of programs that lock with SETNX
-- and take over with GETSET.
--
-- Keys of one resource: K, the time stamp, which other programs write, too; and R = holdfast:plain:{K}, as in
-- plain-string.lua.
--   K   string: 'END' or 'END|OWNER'; the lock is over when the clock shows more than END, in whole units since 1970
--   R   has three more fields while a grant of ours has not been released: holder, its text; stamp, the string that was
--       written for it, which is rounded up; until, when its lease is over, in microseconds. Other clients of Holdfast
--       believe R, whatever K is.
-- A program that finds a stamp that is past takes over with GETSET, unless that returns another stamp than the one that it
-- has read. Then it has lost, but has overwritten the winner's stamp. So the string of a live grant may have changed for
-- two reasons. In the first half of a lease no clock that is right within half of a lease shows its stamp as past: the
-- string is a loser's, and the next renewal writes ours again. That is wrong if a loser's stamp is past itself before the
-- next renewal, which is assumed not to be: their time to live must be longer than a third of our lease. In the second half
-- the lock counts as taken.
-- K does not expire. A program that had read a stamp that is past, just before it expired, would lose to nobody with its
-- GETSET, and leave a stamp that nobody holds.
-- The last argument of every script is 'UNIT NAMED': the microseconds of one unit, and 1 if stamps name their owner.
-- include plain-text.lua
local unit, named = string.match(ARGV[#ARGV], '^(%d+) ([01])$')
unit = tonumber(unit)
local now_parts = redis.call('TIME')
local moment = now_parts[1] * 1000000 + now_parts[2]

-- Returns when a stamp is over, or nil if the text is none. A stamp in the wrong unit is none, as it would look past.
local function over(text)
  local number = tonumber(string.match(text, '^(%d+)$') or string.match(text, '^(%d+)|'))
  local ends = number and (number + 1) * unit
  return ends and ends > moment / 10 and ends < moment * 10 and ends or nil
end

local function over_at(key, text)
  return over(text) or error('HOLDFAST-STAMP key ' .. key .. ' holds no time stamp of this form: ' .. string.sub(text, 1, 60))
end

local function foreign_record(record, text)
  error('HOLDFAST-FOREIGN key ' .. record .. ' was written by somebody else: ' .. string.sub(text, 1, 60))
end

-- Forgets the last grant.
local function forget(record)
  redis.call('HDEL', record, 'holder', 'stamp', 'until')
end

-- Returns when the last grant is over; 0 if it is not known.
local function until_of(record)
  local text = redis.call('HGET', record, 'until') or '0'
  local ends = string.find(text, '^%d+$') and text + 0
  return ends and ends <= 2 ^ 53 and ends or foreign_record(record, 'until ' .. text)
end

-- Returns the text of the lock, and what it says if it is ours, and whether others have taken or deleted it; nothing if the
-- lock is free. The text of another program's lock is its stamp. A renewal names its claim, which is forgotten if it is
-- lost; until then no other one of ours is granted.
local function look(key, record, renewed)
  local value, f, ends = redis.call('GET', key), redis.call('HMGET', record, 'holder', 'stamp'), until_of(record)
  local p = f[1] and (f[2] and plain_of(f[1]) or foreign_record(record, f[1]))
  if p and ends > moment then
    local lost = not value or value ~= f[2] and moment > ends - p.lease * 500
    if not lost or p.id ~= renewed then
      return f[1], p, lost
    end
    forget(record)
    return value -- Whatever it is, it is not ours.
  end
  if value and over_at(key, value) > moment then
    return value
  end
end

-- Returns the time left in milliseconds.
local function millis_left(key, record)
  local ends = until_of(record)
  if ends > moment then
    return math.floor((ends - moment) / 1000)
  end
  local value = redis.call('GET', key)
  return value and math.max(0, math.ceil((over_at(key, value) - moment) / 1000)) or 0
end

-- Writes a stamp that is over after this time (ms), by less than two units, and not before the last one.
local function write(key, record, id, life)
  local ends = math.max(until_of(record), moment + life * 1000)
  local number = math.ceil(ends / unit)
  local stamp = string.format('%.0f', number) .. (named == '1' and '|' .. id or '')
  redis.call('SET', key, stamp)
  redis.call('HSET', record, 'stamp', stamp, 'until', string.format('%.0f', ends))
end

-- Fails if programs wait in a queue of their own.
local function check_queue()
end

-- Writes a grant that lasts for this long (ms). The text is nil if its terms have changed.
local function put(key, record, p, text, life)
  write(key, record, p.id, life)
  if not text then
    redis.call('HSET', record, 'holder', plain_text(p))
  end
end

-- Whether a key is a lock.
local function is_lock(key)
  local ends = redis.call('TYPE', key).ok == 'string' and over(redis.call('GETRANGE', key, 0, 63)) -- others may be large
  return ends and ends > moment
end
