-- One step of a search for the locks (FORM) of the plain package, those of Holdfast and of other programs. Changes nothing.
--
-- KEYS  none, because the script looks for the keys
-- ARGV  1 cursor, 0 at first; 2 pattern of the keys; 3 how many keys to examine
-- Reply {next cursor, 0 at the end, key of a lock, ...}
-- Cost  O(keys examined)
-- include plain-FORM.lua
local scanned = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local found = { scanned[1] }
for _, key in ipairs(scanned[2]) do
  if is_lock(key) then
    found[#found + 1] = key
  end
end
return found
