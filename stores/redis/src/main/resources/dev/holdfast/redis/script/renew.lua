-- Renews grants and refreshes tickets. Never shortens a grant, never revives one that is over.
--
-- KEYS  the record of each claim; a record may be named more than once
-- ARGV  see record.lua; as many claims as keys, at most 256
-- Reply {answers, handed}: three numbers for each claim, a code and two more, as 'renew' of record.lua returns them,
--       or 7, error, 0 if this claim's record cannot be read; then id, counter, lease in ms of the caller's waiters
--       that were granted
-- Cost  for each claim O(1), 2 commands if it is the sole holder and no claim waits; else O(log waiters), and
--       O(grants) if one may be over
-- include record.lua
-- Renews the grant of a sole holder without waiters. A renewal does not change the fields between the end and the
-- lease: permits, counter and since.
local function renew_sole(key, at)
  local f = redis.call('HMGET', key, ARGV[at], 'use', 'kept')
  if not f[1] or not f[2] then
    return
  end
  local ends, middle, permits, counter = string.match(f[1], '^(%d+) ((%d+) (%d+) %d+) ')
  ends = tonumber(ends)
  if not ends or ends <= now or permits ~= string.match(f[2], '^(%d+) %d+ %d+ 0 0$') then
    return
  end
  ends = math.max(ends, now + ARGV[at + 3] * 1000)
  -- 'first' need not change: it only means that no grant ends earlier.
  redis.call('HSET', key, ARGV[at],
    string.format('%.0f ', ends) .. middle .. ' ' .. ARGV[at + 3] .. ' ' .. ARGV[at + 4] .. '\n' .. ARGV[at + 5])
  if ends > (tonumber(f[3]) or 0) then
    redis.call('HSET', key, 'kept', whole(ends + keep * 1000))
    redis.call('PEXPIRE', key, whole(math.ceil((ends - now) / 1000) + 2 * keep))
  end
  return 1, tonumber(counter), ends - now
end

local function renew_one(i)
  local code, a, b = renew_sole(KEYS[i], i * 6 - 4)
  if code then
    return code, a, b
  end
  local c, r = claim_at(i), open(KEYS[i])
  if is_free(r) and r.tombs == 0 then
    return 5, 0, 0
  end
  settle(r, c.id)
  code, a, b = renew(r, c)
  close(r, c.lease + ticket)
  return code, a, b
end

local answers = {}
-- A server that is out of memory refuses HSET in a script, but not after a write that needs no memory. Leases must
-- not end for lack of memory.
local asked = redis.pcall('PERSIST', KEYS[1] .. ':none')
-- The data of a replica may be outdated, so a replica must not answer. The error leads the client to the primary.
if type(asked) == 'table' and asked.err and string.find(asked.err, 'READONLY', 1, true) then
  return asked
end
for i = 1, #KEYS do
  local notified = #handed
  local ok, code, a, b = pcall(renew_one, i)
  if not ok then
    -- The summary does not count what this claim's record has granted.
    outbox = {}
    while #handed > notified do
      handed[#handed] = nil
    end
    code, a, b = 7, type(code) == 'table' and (code.err or code[1]) or tostring(code), 0
  end
  answers[#answers + 1] = code
  answers[#answers + 1] = a
  answers[#answers + 1] = b
end
return { answers, handed }
