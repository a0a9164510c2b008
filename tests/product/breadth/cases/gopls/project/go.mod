module harbour.example/tides

go 1.18
