-- Renews grants of the layouts of the plain package. Never shortens a grant, never revives one that is over. The text of
-- a grant whose terms change is rewritten.
--
-- KEYS  for each claim two: the lock (FORM), the record
-- ARGV  see record.lua; as many claims as pairs of keys, at most 256
-- Reply five numbers for each claim: code, counter, left in us, since and ENDS of the text (0, 0 if it is a grant in
--       the record); 5, why, 0, 0, 0 gone, as 'renew' of renewal.lua returns it; 7, error, 0, 0, 0 if this claim's
--       keys cannot be read
-- Cost  for each claim O(1), 4 commands if it is a string, 6 if it is a hash; else O(grants) when one may be over
local clock
-- include record.lua
-- include renewal.lua
-- include plain-FORM.lua

-- Makes the record live at least until this grant ends. Many renewals leave the text unchanged, but the counter must
-- outlive the grant.
local function keep_record(key, life, counter)
  local ends, f = now + life * 1000, redis.call('HMGET', key, 'counter', 'kept')
  if not f[1] then
    redis.call('HSET', key, 'counter', string.format('%d', counter))
  end
  local kept = tonumber(f[2] or nil)
  if not (kept and ends <= kept and kept <= 2 ^ 53) then
    redis.call('HSET', key, 'kept', string.format('%d', ends + keep * 1000))
    redis.call('PEXPIRE', key, string.format('%d', life + 2 * keep))
  end
end

local function renew_one(i)
  local c, key, record = claim_at(i), KEYS[2 * i - 1], KEYS[2 * i]
  local text, p = look(key, record, c.id)
  if p and p.id == c.id then
    local life = math.max(millis_left(key, record), c.lease)
    keep_record(record, life, p.counter)
    if p.lease ~= c.lease or p.owner ~= c.owner then
      p.lease, p.owner, p.ends = c.lease, c.owner, math.max(p.ends + 1, now + life * 1000)
      text = nil
    end
    put(key, record, p, text, life)
    return 1, p.counter, life * 1000, p.since, p.ends
  end
  local r = open(record, c.id)
  if not text and is_free(r) and r.tombs == 0 then
    return 5, 0, 0, 0, 0
  end
  settle(r)
  local code, a, b = renew(r, c)
  close(r, c.lease + ticket)
  if code == 5 and a == 0 and text then
    a = 1
  end
  return code, a, b, 0, 0
end

local answers = {}
-- As in renew.lua: leases must not end for lack of memory.
local asked = redis.pcall('HDEL', KEYS[2], '-')
-- The data of a replica may be outdated, so a replica must not answer. The error leads the client to the primary.
if type(asked) == 'table' and asked.err and string.find(asked.err, 'READONLY', 1, true) then
  return asked
end
for i = 1, #KEYS / 2 do
  local reply = { pcall(renew_one, i) }
  if not reply[1] then
    local failure = reply[2]
    reply = { false, 7, type(failure) == 'table' and (failure.err or failure[1]) or tostring(failure), 0, 0, 0 }
  end
  for j = 2, 6 do
    answers[#answers + 1] = reply[j]
  end
end
return answers
