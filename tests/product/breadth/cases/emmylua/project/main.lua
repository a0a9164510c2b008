local inventory = require("lib.inventory")
local report = require("lib.report")

---@type Inventory
local shop = inventory.open("corner shop")
shop:add("tea", 12, 3.5)
shop:add("honey", 4, 7.25)

local function print_value()
    local value = inventory.total_value(shop)
    print(string.format("%s: %.2f", shop.name, value))
end

print_value()
print(report.lines(shop))
