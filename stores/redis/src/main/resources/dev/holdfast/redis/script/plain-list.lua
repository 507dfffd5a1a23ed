-- Finds the locks (FORM) among some keys, those of Holdfast and of other programs. Changes nothing.
--
-- KEYS  the keys, which may be of any type
-- ARGV  what the FORM has as its last argument
-- Reply the keys of the locks
-- Cost  O(keys)
-- include plain-FORM.lua
local found = {}
for _, key in ipairs(KEYS) do
  if is_lock(key) then
    found[#found + 1] = key
  end
end
return found
