-- Included after record.lua by the scripts of the plain layout, in which an exclusive grant is a string made by SET
-- NX PX.
--
-- Keys of one resource: K, a key that programs without Holdfast may also lock, with SET NX PX and a delete that
-- compares; and R = holdfast:plain:{K}, a record as in record.lua, for the counter, the tombstones, and grants of
-- other kinds (layout=mixed). R never has a grant of limit 1, nor waiters. R is in the hash slot of K.
--   K   string: 'holdfast1 ID COUNTER SINCE ENDS LEASE\nOWNER'; any other text is a lock of another program
-- The string is the grant: a client must know all of it to release or renew it, and it changes with each grant and
-- each change of its terms. ENDS is the planned end of the grant when its terms (lease, owner) were last written; it
-- grows each time. PTTL returns when the grant really ends. So a late copy of a command with an older string finds
-- nothing.
local HEAD = '^holdfast1 (%S+) (%d+) (%d+) (%d+) (%d+)\n(.*)$'

-- Returns nil if another program wrote the text.
local function plain_of(text)
  local id, counter, since, ends, lease, owner = string.match(text, HEAD)
  return id and { id = id, counter = tonumber(counter), since = tonumber(since), ends = tonumber(ends), lease = tonumber(lease),
    owner = owner }
end

local function plain_text(p)
  return string.format('holdfast1 %s %.0f %.0f %.0f %.0f\n%s', p.id, p.counter, p.since, p.ends, p.lease, p.owner)
end

-- Returns the time left in microseconds; 0 if it is not known, because the lock of another program has no end.
local function left_of(key)
  return math.max(0, redis.call('PTTL', key)) * 1000
end

-- Makes the record live at least until this grant ends. Many renewals leave the string unchanged, but the
-- counter must outlive the string.
local function prolong(key, life, counter)
  local ends, f = now + life * 1000, redis.call('HMGET', key, 'counter', 'kept')
  if not f[1] then
    redis.call('HSET', key, 'counter', whole(counter))
  end
  if not f[2] or ends > tonumber(f[2]) then
    redis.call('HSET', key, 'kept', whole(ends + keep * 1000))
    redis.call('PEXPIRE', key, whole(life + 2 * keep))
  end
end
