import QtQml

QtObject {
    property int count: 3
    function next() {
        return count + ;
    }
}
