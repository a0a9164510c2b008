include("trees.jl")

const CENTS_PER_KILOGRAM = 180

"What one tree earns in a year, in cents."
function earnings(tree::Tree)
    kilograms = yield_of(tree)
    round(Int, kilograms * CENTS_PER_KILOGRAM)
end
