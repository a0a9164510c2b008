<?php
namespace Garden;

class Broken
{
    public function reorder(): string
    {
        return orderMore(12);
    }
}
