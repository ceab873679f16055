from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

ACTION_CANCEL: Action
ACTION_CLOSE: Action
ACTION_REPLACE: Action
ACTION_SET_LEG: Action
ACTION_SUBMIT: Action
DESCRIPTOR: _descriptor.FileDescriptor
DRIVE_MODE_ADVANCE: DriveMode
DRIVE_MODE_CO_SIMULATION: DriveMode
DRIVE_MODE_LOCKSTEP: DriveMode
DRIVE_MODE_SIGNALS: DriveMode
DRIVE_MODE_UNSPECIFIED: DriveMode
PURPOSE_BACKTEST: Purpose
PURPOSE_LIVE: Purpose
PURPOSE_PAPER: Purpose
PURPOSE_UNSPECIFIED: Purpose

class Account(_message.Message):
    __slots__ = ["delay_candles", "execution", "initial_cash", "price_steps", "worst_price"]
    DELAY_CANDLES_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    INITIAL_CASH_FIELD_NUMBER: _ClassVar[int]
    PRICE_STEPS_FIELD_NUMBER: _ClassVar[int]
    WORST_PRICE_FIELD_NUMBER: _ClassVar[int]
    delay_candles: int
    execution: str
    initial_cash: str
    price_steps: _containers.RepeatedScalarFieldContainer[str]
    worst_price: bool
    def __init__(self, initial_cash: _Optional[str] = ..., execution: _Optional[str] = ..., price_steps: _Optional[_Iterable[str]] = ..., delay_candles: _Optional[int] = ..., worst_price: bool = ...) -> None: ...

class AccountView(_message.Message):
    __slots__ = ["cash", "equity", "positions"]
    CASH_FIELD_NUMBER: _ClassVar[int]
    EQUITY_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    cash: float
    equity: float
    positions: _containers.RepeatedCompositeFieldContainer[PositionView]
    def __init__(self, cash: _Optional[float] = ..., equity: _Optional[float] = ..., positions: _Optional[_Iterable[_Union[PositionView, _Mapping]]] = ...) -> None: ...

class Advanced(_message.Message):
    __slots__ = ["intents", "step"]
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    intents: _containers.RepeatedCompositeFieldContainer[Intent]
    step: int
    def __init__(self, step: _Optional[int] = ..., intents: _Optional[_Iterable[_Union[Intent, _Mapping]]] = ...) -> None: ...

class AnnotationSeries(_message.Message):
    __slots__ = ["name", "symbol", "times", "values"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    TIMES_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    name: str
    symbol: str
    times: _containers.RepeatedScalarFieldContainer[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, name: _Optional[str] = ..., times: _Optional[_Iterable[int]] = ..., values: _Optional[_Iterable[float]] = ..., symbol: _Optional[str] = ...) -> None: ...

class Annotations(_message.Message):
    __slots__ = ["dropped", "series"]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    SERIES_FIELD_NUMBER: _ClassVar[int]
    dropped: int
    series: _containers.RepeatedCompositeFieldContainer[AnnotationSeries]
    def __init__(self, series: _Optional[_Iterable[_Union[AnnotationSeries, _Mapping]]] = ..., dropped: _Optional[int] = ...) -> None: ...

class Begin(_message.Message):
    __slots__ = ["total_steps", "warmup_steps", "window_step"]
    TOTAL_STEPS_FIELD_NUMBER: _ClassVar[int]
    WARMUP_STEPS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_STEP_FIELD_NUMBER: _ClassVar[int]
    total_steps: int
    warmup_steps: int
    window_step: int
    def __init__(self, warmup_steps: _Optional[int] = ..., window_step: _Optional[int] = ..., total_steps: _Optional[int] = ...) -> None: ...

class Candle(_message.Message):
    __slots__ = ["close", "high", "low", "open", "open_time", "symbol", "volume"]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    OPEN_TIME_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    VOLUME_FIELD_NUMBER: _ClassVar[int]
    close: float
    high: float
    low: float
    open: float
    open_time: int
    symbol: int
    volume: float
    def __init__(self, symbol: _Optional[int] = ..., open_time: _Optional[int] = ..., open: _Optional[float] = ..., high: _Optional[float] = ..., low: _Optional[float] = ..., close: _Optional[float] = ..., volume: _Optional[float] = ...) -> None: ...

class Candles(_message.Message):
    __slots__ = ["close_times", "first_step", "indicators", "inputs", "last", "symbols"]
    CLOSE_TIMES_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    INDICATORS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    SYMBOLS_FIELD_NUMBER: _ClassVar[int]
    close_times: _containers.RepeatedScalarFieldContainer[int]
    first_step: int
    indicators: _containers.RepeatedCompositeFieldContainer[IndicatorColumns]
    inputs: _containers.RepeatedCompositeFieldContainer[InputRows]
    last: bool
    symbols: _containers.RepeatedCompositeFieldContainer[SymbolCandles]
    def __init__(self, first_step: _Optional[int] = ..., close_times: _Optional[_Iterable[int]] = ..., symbols: _Optional[_Iterable[_Union[SymbolCandles, _Mapping]]] = ..., last: bool = ..., indicators: _Optional[_Iterable[_Union[IndicatorColumns, _Mapping]]] = ..., inputs: _Optional[_Iterable[_Union[InputRows, _Mapping]]] = ...) -> None: ...

class Child(_message.Message):
    __slots__ = ["percent", "price", "tighten_after", "tighten_to", "trail_amount", "trail_percent"]
    PERCENT_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    TIGHTEN_AFTER_FIELD_NUMBER: _ClassVar[int]
    TIGHTEN_TO_FIELD_NUMBER: _ClassVar[int]
    TRAIL_AMOUNT_FIELD_NUMBER: _ClassVar[int]
    TRAIL_PERCENT_FIELD_NUMBER: _ClassVar[int]
    percent: str
    price: str
    tighten_after: str
    tighten_to: str
    trail_amount: str
    trail_percent: str
    def __init__(self, price: _Optional[str] = ..., percent: _Optional[str] = ..., trail_percent: _Optional[str] = ..., trail_amount: _Optional[str] = ..., tighten_to: _Optional[str] = ..., tighten_after: _Optional[str] = ...) -> None: ...

class Dataset(_message.Message):
    __slots__ = ["files", "inputs"]
    FILES_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedCompositeFieldContainer[DatasetFile]
    inputs: _containers.RepeatedCompositeFieldContainer[InputRows]
    def __init__(self, files: _Optional[_Iterable[_Union[DatasetFile, _Mapping]]] = ..., inputs: _Optional[_Iterable[_Union[InputRows, _Mapping]]] = ...) -> None: ...

class DatasetFile(_message.Message):
    __slots__ = ["first_row", "path", "rows", "sha256"]
    FIRST_ROW_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    first_row: int
    path: str
    rows: int
    sha256: str
    def __init__(self, path: _Optional[str] = ..., sha256: _Optional[str] = ..., first_row: _Optional[int] = ..., rows: _Optional[int] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ["intents", "step"]
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    intents: _containers.RepeatedCompositeFieldContainer[Intent]
    step: int
    def __init__(self, step: _Optional[int] = ..., intents: _Optional[_Iterable[_Union[Intent, _Mapping]]] = ...) -> None: ...

class Decisions(_message.Message):
    __slots__ = ["decisions", "digest", "trace_digests", "trace_steps", "watermark"]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    TRACE_DIGESTS_FIELD_NUMBER: _ClassVar[int]
    TRACE_STEPS_FIELD_NUMBER: _ClassVar[int]
    WATERMARK_FIELD_NUMBER: _ClassVar[int]
    decisions: _containers.RepeatedCompositeFieldContainer[Decision]
    digest: bytes
    trace_digests: bytes
    trace_steps: _containers.RepeatedScalarFieldContainer[int]
    watermark: int
    def __init__(self, decisions: _Optional[_Iterable[_Union[Decision, _Mapping]]] = ..., watermark: _Optional[int] = ..., digest: _Optional[bytes] = ..., trace_steps: _Optional[_Iterable[int]] = ..., trace_digests: _Optional[bytes] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class Failed(_message.Message):
    __slots__ = ["code", "errors", "message", "stack", "step", "type"]
    CODE_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    STACK_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    code: str
    errors: _containers.RepeatedCompositeFieldContainer[FieldError]
    message: str
    stack: str
    step: int
    type: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., step: _Optional[int] = ..., stack: _Optional[str] = ..., errors: _Optional[_Iterable[_Union[FieldError, _Mapping]]] = ..., type: _Optional[str] = ...) -> None: ...

class FieldError(_message.Message):
    __slots__ = ["message", "pointer"]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    POINTER_FIELD_NUMBER: _ClassVar[int]
    message: str
    pointer: str
    def __init__(self, pointer: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class Fill(_message.Message):
    __slots__ = ["ambiguous", "fee", "fill_id", "liquidity", "order_id", "position_after", "price", "quantity", "realized_pnl", "reference_price", "role", "side", "slippage", "symbol", "tag", "time"]
    AMBIGUOUS_FIELD_NUMBER: _ClassVar[int]
    FEE_FIELD_NUMBER: _ClassVar[int]
    FILL_ID_FIELD_NUMBER: _ClassVar[int]
    LIQUIDITY_FIELD_NUMBER: _ClassVar[int]
    ORDER_ID_FIELD_NUMBER: _ClassVar[int]
    POSITION_AFTER_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    REALIZED_PNL_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_PRICE_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SIDE_FIELD_NUMBER: _ClassVar[int]
    SLIPPAGE_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    TAG_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    ambiguous: bool
    fee: str
    fill_id: int
    liquidity: int
    order_id: int
    position_after: str
    price: str
    quantity: str
    realized_pnl: str
    reference_price: str
    role: int
    side: int
    slippage: str
    symbol: int
    tag: str
    time: int
    def __init__(self, fill_id: _Optional[int] = ..., order_id: _Optional[int] = ..., symbol: _Optional[int] = ..., side: _Optional[int] = ..., role: _Optional[int] = ..., quantity: _Optional[str] = ..., price: _Optional[str] = ..., reference_price: _Optional[str] = ..., slippage: _Optional[str] = ..., fee: _Optional[str] = ..., liquidity: _Optional[int] = ..., time: _Optional[int] = ..., position_after: _Optional[str] = ..., realized_pnl: _Optional[str] = ..., ambiguous: bool = ..., tag: _Optional[str] = ...) -> None: ...

class Finish(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class Guard(_message.Message):
    __slots__ = ["entry_working", "max_entries", "max_open", "position"]
    ENTRY_WORKING_FIELD_NUMBER: _ClassVar[int]
    MAX_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    MAX_OPEN_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    entry_working: bool
    max_entries: int
    max_open: int
    position: int
    def __init__(self, position: _Optional[int] = ..., entry_working: bool = ..., max_entries: _Optional[int] = ..., max_open: _Optional[int] = ...) -> None: ...

class HostMessage(_message.Message):
    __slots__ = ["begin", "candles", "dataset", "finish", "script", "start", "step", "stop"]
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    CANDLES_FIELD_NUMBER: _ClassVar[int]
    DATASET_FIELD_NUMBER: _ClassVar[int]
    FINISH_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    begin: Begin
    candles: Candles
    dataset: Dataset
    finish: Finish
    script: Script
    start: Start
    step: Step
    stop: Stop
    def __init__(self, start: _Optional[_Union[Start, _Mapping]] = ..., dataset: _Optional[_Union[Dataset, _Mapping]] = ..., candles: _Optional[_Union[Candles, _Mapping]] = ..., step: _Optional[_Union[Step, _Mapping]] = ..., finish: _Optional[_Union[Finish, _Mapping]] = ..., stop: _Optional[_Union[Stop, _Mapping]] = ..., begin: _Optional[_Union[Begin, _Mapping]] = ..., script: _Optional[_Union[Script, _Mapping]] = ...) -> None: ...

class Indicator(_message.Message):
    __slots__ = ["args", "name", "shape", "sources"]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    args: _containers.RepeatedScalarFieldContainer[float]
    name: str
    shape: str
    sources: _containers.RepeatedCompositeFieldContainer[Source]
    def __init__(self, name: _Optional[str] = ..., args: _Optional[_Iterable[float]] = ..., shape: _Optional[str] = ..., sources: _Optional[_Iterable[_Union[Source, _Mapping]]] = ...) -> None: ...

class IndicatorColumns(_message.Message):
    __slots__ = ["indicator", "lines"]
    INDICATOR_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    indicator: int
    lines: _containers.RepeatedCompositeFieldContainer[LineColumn]
    def __init__(self, indicator: _Optional[int] = ..., lines: _Optional[_Iterable[_Union[LineColumn, _Mapping]]] = ...) -> None: ...

class Input(_message.Message):
    __slots__ = ["max_age", "name"]
    MAX_AGE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    max_age: int
    name: str
    def __init__(self, name: _Optional[str] = ..., max_age: _Optional[int] = ...) -> None: ...

class InputRows(_message.Message):
    __slots__ = ["input", "known", "time", "value"]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    input: int
    known: bytes
    time: bytes
    value: bytes
    def __init__(self, input: _Optional[int] = ..., time: _Optional[bytes] = ..., known: _Optional[bytes] = ..., value: _Optional[bytes] = ...) -> None: ...

class Intent(_message.Message):
    __slots__ = ["action", "cash_fraction", "client_ref", "equity_fraction", "expire_after", "guard", "limit_price", "oco", "post_only", "quantity", "quote_amount", "reduce_only", "ref", "risk_fraction", "side", "stop_loss", "stop_price", "symbol", "tag", "take_profit", "target_fraction", "targets", "time_in_force", "trail_amount", "trail_percent", "type"]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    CASH_FRACTION_FIELD_NUMBER: _ClassVar[int]
    CLIENT_REF_FIELD_NUMBER: _ClassVar[int]
    EQUITY_FRACTION_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_AFTER_FIELD_NUMBER: _ClassVar[int]
    GUARD_FIELD_NUMBER: _ClassVar[int]
    LIMIT_PRICE_FIELD_NUMBER: _ClassVar[int]
    OCO_FIELD_NUMBER: _ClassVar[int]
    POST_ONLY_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    QUOTE_AMOUNT_FIELD_NUMBER: _ClassVar[int]
    REDUCE_ONLY_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    RISK_FRACTION_FIELD_NUMBER: _ClassVar[int]
    SIDE_FIELD_NUMBER: _ClassVar[int]
    STOP_LOSS_FIELD_NUMBER: _ClassVar[int]
    STOP_PRICE_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    TAG_FIELD_NUMBER: _ClassVar[int]
    TAKE_PROFIT_FIELD_NUMBER: _ClassVar[int]
    TARGETS_FIELD_NUMBER: _ClassVar[int]
    TARGET_FRACTION_FIELD_NUMBER: _ClassVar[int]
    TIME_IN_FORCE_FIELD_NUMBER: _ClassVar[int]
    TRAIL_AMOUNT_FIELD_NUMBER: _ClassVar[int]
    TRAIL_PERCENT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    action: Action
    cash_fraction: str
    client_ref: str
    equity_fraction: str
    expire_after: int
    guard: Guard
    limit_price: str
    oco: int
    post_only: bool
    quantity: str
    quote_amount: str
    reduce_only: bool
    ref: str
    risk_fraction: str
    side: int
    stop_loss: Child
    stop_price: str
    symbol: int
    tag: str
    take_profit: Child
    target_fraction: str
    targets: _containers.RepeatedCompositeFieldContainer[TakeProfit]
    time_in_force: int
    trail_amount: str
    trail_percent: str
    type: int
    def __init__(self, action: _Optional[_Union[Action, str]] = ..., symbol: _Optional[int] = ..., side: _Optional[int] = ..., type: _Optional[int] = ..., quantity: _Optional[str] = ..., quote_amount: _Optional[str] = ..., cash_fraction: _Optional[str] = ..., equity_fraction: _Optional[str] = ..., risk_fraction: _Optional[str] = ..., target_fraction: _Optional[str] = ..., limit_price: _Optional[str] = ..., stop_price: _Optional[str] = ..., trail_percent: _Optional[str] = ..., trail_amount: _Optional[str] = ..., time_in_force: _Optional[int] = ..., expire_after: _Optional[int] = ..., reduce_only: bool = ..., stop_loss: _Optional[_Union[Child, _Mapping]] = ..., take_profit: _Optional[_Union[Child, _Mapping]] = ..., tag: _Optional[str] = ..., client_ref: _Optional[str] = ..., ref: _Optional[str] = ..., post_only: bool = ..., oco: _Optional[int] = ..., targets: _Optional[_Iterable[_Union[TakeProfit, _Mapping]]] = ..., guard: _Optional[_Union[Guard, _Mapping]] = ...) -> None: ...

class LineColumn(_message.Message):
    __slots__ = ["present", "values"]
    PRESENT_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    present: bytes
    values: bytes
    def __init__(self, present: _Optional[bytes] = ..., values: _Optional[bytes] = ...) -> None: ...

class LogLine(_message.Message):
    __slots__ = ["fields", "level", "message", "order", "step", "time"]
    class FieldsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    fields: _containers.ScalarMap[str, str]
    level: str
    message: str
    order: _containers.RepeatedScalarFieldContainer[str]
    step: int
    time: int
    def __init__(self, level: _Optional[str] = ..., message: _Optional[str] = ..., fields: _Optional[_Mapping[str, str]] = ..., step: _Optional[int] = ..., time: _Optional[int] = ..., order: _Optional[_Iterable[str]] = ...) -> None: ...

class LogLines(_message.Message):
    __slots__ = ["dropped", "lines"]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    dropped: int
    lines: _containers.RepeatedCompositeFieldContainer[LogLine]
    def __init__(self, lines: _Optional[_Iterable[_Union[LogLine, _Mapping]]] = ..., dropped: _Optional[int] = ...) -> None: ...

class Lookback(_message.Message):
    __slots__ = ["candles", "timeframe"]
    CANDLES_FIELD_NUMBER: _ClassVar[int]
    TIMEFRAME_FIELD_NUMBER: _ClassVar[int]
    candles: int
    timeframe: str
    def __init__(self, timeframe: _Optional[str] = ..., candles: _Optional[int] = ...) -> None: ...

class OrderUpdate(_message.Message):
    __slots__ = ["average_price", "clamped", "client_ref", "created_at", "fee", "filled_at", "filled_quantity", "limit_price", "order_id", "parent_id", "quantity", "reason", "reduce_only", "role", "side", "status", "stop_price", "symbol", "tag", "time_in_force", "type", "updated_at"]
    AVERAGE_PRICE_FIELD_NUMBER: _ClassVar[int]
    CLAMPED_FIELD_NUMBER: _ClassVar[int]
    CLIENT_REF_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    FEE_FIELD_NUMBER: _ClassVar[int]
    FILLED_AT_FIELD_NUMBER: _ClassVar[int]
    FILLED_QUANTITY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_PRICE_FIELD_NUMBER: _ClassVar[int]
    ORDER_ID_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REDUCE_ONLY_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SIDE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    STOP_PRICE_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    TAG_FIELD_NUMBER: _ClassVar[int]
    TIME_IN_FORCE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    average_price: str
    clamped: bool
    client_ref: str
    created_at: int
    fee: str
    filled_at: int
    filled_quantity: str
    limit_price: str
    order_id: int
    parent_id: int
    quantity: str
    reason: str
    reduce_only: bool
    role: int
    side: int
    status: int
    stop_price: str
    symbol: int
    tag: str
    time_in_force: int
    type: int
    updated_at: int
    def __init__(self, order_id: _Optional[int] = ..., parent_id: _Optional[int] = ..., symbol: _Optional[int] = ..., client_ref: _Optional[str] = ..., side: _Optional[int] = ..., type: _Optional[int] = ..., role: _Optional[int] = ..., status: _Optional[int] = ..., reason: _Optional[str] = ..., quantity: _Optional[str] = ..., limit_price: _Optional[str] = ..., stop_price: _Optional[str] = ..., time_in_force: _Optional[int] = ..., reduce_only: bool = ..., tag: _Optional[str] = ..., created_at: _Optional[int] = ..., filled_quantity: _Optional[str] = ..., average_price: _Optional[str] = ..., fee: _Optional[str] = ..., updated_at: _Optional[int] = ..., filled_at: _Optional[int] = ..., clamped: bool = ...) -> None: ...

class Plot(_message.Message):
    __slots__ = ["color", "kind", "levels", "pane", "series", "title", "upper"]
    COLOR_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LEVELS_FIELD_NUMBER: _ClassVar[int]
    PANE_FIELD_NUMBER: _ClassVar[int]
    SERIES_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    color: str
    kind: str
    levels: _containers.RepeatedCompositeFieldContainer[PlotLevel]
    pane: str
    series: str
    title: str
    upper: str
    def __init__(self, series: _Optional[str] = ..., title: _Optional[str] = ..., pane: _Optional[str] = ..., kind: _Optional[str] = ..., upper: _Optional[str] = ..., levels: _Optional[_Iterable[_Union[PlotLevel, _Mapping]]] = ..., color: _Optional[str] = ...) -> None: ...

class PlotLevel(_message.Message):
    __slots__ = ["param", "title", "value"]
    PARAM_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    param: str
    title: str
    value: float
    def __init__(self, param: _Optional[str] = ..., value: _Optional[float] = ..., title: _Optional[str] = ...) -> None: ...

class PluginMessage(_message.Message):
    __slots__ = ["advanced", "annotations", "decision", "decisions", "failed", "log_lines", "ready", "signals"]
    ADVANCED_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    LOG_LINES_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    advanced: Advanced
    annotations: Annotations
    decision: Decision
    decisions: Decisions
    failed: Failed
    log_lines: LogLines
    ready: Ready
    signals: Signals
    def __init__(self, ready: _Optional[_Union[Ready, _Mapping]] = ..., decisions: _Optional[_Union[Decisions, _Mapping]] = ..., decision: _Optional[_Union[Decision, _Mapping]] = ..., annotations: _Optional[_Union[Annotations, _Mapping]] = ..., log_lines: _Optional[_Union[LogLines, _Mapping]] = ..., failed: _Optional[_Union[Failed, _Mapping]] = ..., signals: _Optional[_Union[Signals, _Mapping]] = ..., advanced: _Optional[_Union[Advanced, _Mapping]] = ...) -> None: ...

class PositionView(_message.Message):
    __slots__ = ["candles_held", "entry_price", "quantity", "symbol"]
    CANDLES_HELD_FIELD_NUMBER: _ClassVar[int]
    ENTRY_PRICE_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    candles_held: int
    entry_price: float
    quantity: float
    symbol: int
    def __init__(self, symbol: _Optional[int] = ..., quantity: _Optional[float] = ..., entry_price: _Optional[float] = ..., candles_held: _Optional[int] = ...) -> None: ...

class Ready(_message.Message):
    __slots__ = ["indicators", "lookback", "warmup_candles"]
    INDICATORS_FIELD_NUMBER: _ClassVar[int]
    LOOKBACK_FIELD_NUMBER: _ClassVar[int]
    WARMUP_CANDLES_FIELD_NUMBER: _ClassVar[int]
    indicators: _containers.RepeatedCompositeFieldContainer[Indicator]
    lookback: _containers.RepeatedCompositeFieldContainer[Lookback]
    warmup_candles: int
    def __init__(self, warmup_candles: _Optional[int] = ..., lookback: _Optional[_Iterable[_Union[Lookback, _Mapping]]] = ..., indicators: _Optional[_Iterable[_Union[Indicator, _Mapping]]] = ...) -> None: ...

class Script(_message.Message):
    __slots__ = ["last", "steps"]
    LAST_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    last: int
    steps: _containers.RepeatedCompositeFieldContainer[Step]
    def __init__(self, steps: _Optional[_Iterable[_Union[Step, _Mapping]]] = ..., last: _Optional[int] = ...) -> None: ...

class Signals(_message.Message):
    __slots__ = ["expire_after", "last", "limit_price", "size", "steps", "stop_loss", "tag", "tags", "take_profit", "template", "templates"]
    EXPIRE_AFTER_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    LIMIT_PRICE_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    STOP_LOSS_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    TAG_FIELD_NUMBER: _ClassVar[int]
    TAKE_PROFIT_FIELD_NUMBER: _ClassVar[int]
    TEMPLATES_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    expire_after: bytes
    last: bool
    limit_price: bytes
    size: bytes
    steps: bytes
    stop_loss: bytes
    tag: bytes
    tags: _containers.RepeatedScalarFieldContainer[str]
    take_profit: bytes
    template: bytes
    templates: _containers.RepeatedCompositeFieldContainer[Intent]
    def __init__(self, templates: _Optional[_Iterable[_Union[Intent, _Mapping]]] = ..., steps: _Optional[bytes] = ..., template: _Optional[bytes] = ..., size: _Optional[bytes] = ..., limit_price: _Optional[bytes] = ..., stop_loss: _Optional[bytes] = ..., take_profit: _Optional[bytes] = ..., expire_after: _Optional[bytes] = ..., tag: _Optional[bytes] = ..., tags: _Optional[_Iterable[str]] = ..., last: bool = ...) -> None: ...

class Source(_message.Message):
    __slots__ = ["field", "symbol"]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    field: int
    symbol: int
    def __init__(self, symbol: _Optional[int] = ..., field: _Optional[int] = ...) -> None: ...

class Spec(_message.Message):
    __slots__ = ["advance", "author", "default_params", "description", "display_name", "extra", "inputs", "language", "max_symbols", "min_symbols", "modes", "name", "params_schema", "plots", "protocol_version", "sdk_version", "sessions", "signals", "sim_id", "supports", "timeframes", "trained_until", "version"]
    ADVANCE_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_PARAMS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    EXTRA_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    MAX_SYMBOLS_FIELD_NUMBER: _ClassVar[int]
    MIN_SYMBOLS_FIELD_NUMBER: _ClassVar[int]
    MODES_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARAMS_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    PLOTS_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    SDK_VERSION_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    SIM_ID_FIELD_NUMBER: _ClassVar[int]
    SUPPORTS_FIELD_NUMBER: _ClassVar[int]
    TIMEFRAMES_FIELD_NUMBER: _ClassVar[int]
    TRAINED_UNTIL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    advance: bool
    author: str
    default_params: str
    description: str
    display_name: str
    extra: _containers.RepeatedScalarFieldContainer[str]
    inputs: _containers.RepeatedCompositeFieldContainer[Input]
    language: str
    max_symbols: int
    min_symbols: int
    modes: _containers.RepeatedScalarFieldContainer[str]
    name: str
    params_schema: str
    plots: _containers.RepeatedCompositeFieldContainer[Plot]
    protocol_version: int
    sdk_version: str
    sessions: bool
    signals: bool
    sim_id: str
    supports: Supports
    timeframes: _containers.RepeatedScalarFieldContainer[str]
    trained_until: str
    version: str
    def __init__(self, name: _Optional[str] = ..., display_name: _Optional[str] = ..., version: _Optional[str] = ..., description: _Optional[str] = ..., author: _Optional[str] = ..., language: _Optional[str] = ..., sdk_version: _Optional[str] = ..., protocol_version: _Optional[int] = ..., sim_id: _Optional[str] = ..., modes: _Optional[_Iterable[str]] = ..., timeframes: _Optional[_Iterable[str]] = ..., min_symbols: _Optional[int] = ..., max_symbols: _Optional[int] = ..., supports: _Optional[_Union[Supports, _Mapping]] = ..., params_schema: _Optional[str] = ..., default_params: _Optional[str] = ..., trained_until: _Optional[str] = ..., plots: _Optional[_Iterable[_Union[Plot, _Mapping]]] = ..., extra: _Optional[_Iterable[str]] = ..., inputs: _Optional[_Iterable[_Union[Input, _Mapping]]] = ..., signals: bool = ..., sessions: bool = ..., advance: bool = ...) -> None: ...

class Start(_message.Message):
    __slots__ = ["account", "all_points", "inputs", "log_level", "mode", "params", "purpose", "root_seed", "run_id", "symbols", "timeframe"]
    ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    ALL_POINTS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    LOG_LEVEL_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    ROOT_SEED_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    SYMBOLS_FIELD_NUMBER: _ClassVar[int]
    TIMEFRAME_FIELD_NUMBER: _ClassVar[int]
    account: Account
    all_points: bool
    inputs: _containers.RepeatedScalarFieldContainer[str]
    log_level: str
    mode: DriveMode
    params: str
    purpose: Purpose
    root_seed: str
    run_id: str
    symbols: _containers.RepeatedScalarFieldContainer[str]
    timeframe: str
    def __init__(self, run_id: _Optional[str] = ..., mode: _Optional[_Union[DriveMode, str]] = ..., purpose: _Optional[_Union[Purpose, str]] = ..., params: _Optional[str] = ..., symbols: _Optional[_Iterable[str]] = ..., timeframe: _Optional[str] = ..., account: _Optional[_Union[Account, _Mapping]] = ..., root_seed: _Optional[str] = ..., log_level: _Optional[str] = ..., all_points: bool = ..., inputs: _Optional[_Iterable[str]] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ["account", "candles", "close_time", "fills", "index", "inputs", "orders", "warmup"]
    ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    CANDLES_FIELD_NUMBER: _ClassVar[int]
    CLOSE_TIME_FIELD_NUMBER: _ClassVar[int]
    FILLS_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    ORDERS_FIELD_NUMBER: _ClassVar[int]
    WARMUP_FIELD_NUMBER: _ClassVar[int]
    account: AccountView
    candles: _containers.RepeatedCompositeFieldContainer[Candle]
    close_time: int
    fills: _containers.RepeatedCompositeFieldContainer[Fill]
    index: int
    inputs: _containers.RepeatedCompositeFieldContainer[InputRows]
    orders: _containers.RepeatedCompositeFieldContainer[OrderUpdate]
    warmup: bool
    def __init__(self, index: _Optional[int] = ..., close_time: _Optional[int] = ..., candles: _Optional[_Iterable[_Union[Candle, _Mapping]]] = ..., fills: _Optional[_Iterable[_Union[Fill, _Mapping]]] = ..., orders: _Optional[_Iterable[_Union[OrderUpdate, _Mapping]]] = ..., account: _Optional[_Union[AccountView, _Mapping]] = ..., warmup: bool = ..., inputs: _Optional[_Iterable[_Union[InputRows, _Mapping]]] = ...) -> None: ...

class Stop(_message.Message):
    __slots__ = ["reason"]
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class Supports(_message.Message):
    __slots__ = ["calendar", "multi_symbol", "scale_free", "short"]
    CALENDAR_FIELD_NUMBER: _ClassVar[int]
    MULTI_SYMBOL_FIELD_NUMBER: _ClassVar[int]
    SCALE_FREE_FIELD_NUMBER: _ClassVar[int]
    SHORT_FIELD_NUMBER: _ClassVar[int]
    calendar: str
    multi_symbol: bool
    scale_free: bool
    short: bool
    def __init__(self, short: bool = ..., multi_symbol: bool = ..., scale_free: bool = ..., calendar: _Optional[str] = ...) -> None: ...

class SymbolCandles(_message.Message):
    __slots__ = ["close", "high", "low", "open", "open_time", "present", "volume"]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    OPEN_TIME_FIELD_NUMBER: _ClassVar[int]
    PRESENT_FIELD_NUMBER: _ClassVar[int]
    VOLUME_FIELD_NUMBER: _ClassVar[int]
    close: bytes
    high: bytes
    low: bytes
    open: bytes
    open_time: bytes
    present: bytes
    volume: bytes
    def __init__(self, present: _Optional[bytes] = ..., open_time: _Optional[bytes] = ..., open: _Optional[bytes] = ..., high: _Optional[bytes] = ..., low: _Optional[bytes] = ..., close: _Optional[bytes] = ..., volume: _Optional[bytes] = ...) -> None: ...

class TakeProfit(_message.Message):
    __slots__ = ["level", "share"]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    level: Child
    share: str
    def __init__(self, level: _Optional[_Union[Child, _Mapping]] = ..., share: _Optional[str] = ...) -> None: ...

class DriveMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Purpose(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Action(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
