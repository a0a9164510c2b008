<?php
namespace Garden;

class Invoice
{
    /** @param Plant[] $plants */
    public function __construct(private array $plants)
    {
    }

    public function text(): string
    {
        $total = 0;
        foreach ($this->plants as $plant) {
            $total += $plant->cents();
        }
        return 'To pay: ' . formatPrice($total);
    }
}
