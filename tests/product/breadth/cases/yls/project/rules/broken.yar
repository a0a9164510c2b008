rule Unfinished
{
    strings:
        $text = "nothing"
    condition:
        $txt
}
