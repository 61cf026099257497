-- SPDX-License-Identifier: GPL-2.0-or-later
-- usage: luajit hot.lua SECONDS   (all but none of it in spin)
local function spin(x, n)
	for i = 1, n do x = (x * 69069 + i) % 2147483648 end
	return x
end

local x, finish = 1, os.clock() + tonumber(arg[1])
while os.clock() < finish do x = spin(x, 1000000) end
os.exit(x == 42 and 1 or 0)
