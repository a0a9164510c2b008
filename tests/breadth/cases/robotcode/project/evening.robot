*** Settings ***
Resource    library.resource

*** Test Cases ***
The Desk Closes Late
    Lend Book    Dune    Eve
