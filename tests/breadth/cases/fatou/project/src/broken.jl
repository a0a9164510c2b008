"Where the ladders are."
function ladders(count
    return count + 1
end
