private rule HasMark
{
    meta:
        description = "The mark of the tool that packs the files"
    strings:
        $mark = "PACKED-BY-CRATE"
    condition:
        $mark
}

rule CrateFile
{
    meta:
        description = "A file of the crate tool"
    strings:
        $head = { 43 52 41 54 }
    condition:
        $head at 0 and HasMark
}

rule LargeCrate
{
    condition:
        HasMark and filesize > 1MB
}
