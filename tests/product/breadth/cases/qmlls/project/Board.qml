import QtQml

QtObject {
    id: board
    property Gauge roof: Gauge {
        id: roofGauge
        celsius: 3.5
    }
    Component.onCompleted: console.log(roofGauge.label())
}
