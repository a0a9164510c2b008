include("trees.jl")

"The harvest of all trees in kilograms."
function total_yield(trees::Vector{<:Tree})
    sum = 0.0
    for tree in trees
        sum += yield_of(tree)
    end
    return sum
end
