<?php
namespace Garden;

class Plant implements Priced
{
    public function __construct(public string $name, private int $cents)
    {
    }

    public function cents(): int
    {
        return $this->cents;
    }
}

function formatPrice(int $cents): string
{
    return number_format($cents / 100, 2) . ' EUR';
}
