*** Settings ***
Resource    library.resource

*** Test Cases ***
A Reader Takes A Novel
    Lend Book    Emma    Anna
    Return Book    Emma

A Reader Keeps A Novel
    Lend Book    Ulysses    Tom
