<?php
namespace Garden;

class Catalogue
{
    public function describe(Plant $plant): string
    {
        return $plant->name . ' for ' . formatPrice($plant->cents());
    }
}
