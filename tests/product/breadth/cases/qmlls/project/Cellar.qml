import QtQml

QtObject {
    property Gauge damp: Gauge {
        id: dampGauge
        station: "cellar"
    }
    function report() {
        return dampGauge.label();
    }
}
