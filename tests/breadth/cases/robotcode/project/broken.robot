*** Settings ***
Resource    library.resource

*** Test Cases ***
A Book Is Lost
    Pay Fine    Emma
