"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "not-in-force": '"OMP_NUM_THREADS"',
    "device": "num_gpus",
    "precision": ('"NVIDIA_TF32_OVERRIDE"', '"MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION"'),
    "switches": (
        '"MXNET_SUBGRAPH_BACKEND"',
        '"MXNET_OPTIMIZER_AGGREGATION_SIZE"',
        '"optimizer_aggregation"',
    ),
    "input": "sym.Variable",
    "conv1": "same = {",
    "conv": "sym.Convolution",
    "relu": "sym.Activation",
    "pool1": "half = {",
    "pool": "sym.Pooling",
    "dropout": "sym.Dropout",
    "flatten": "sym.Flatten",
    "dense": "sym.FullyConnected",
    "weights-in": ("set_params", "shared = {"),
    "loss-function": ("sym.SoftmaxOutput", "step_loss =", "sym.Group", "label ="),
    "optimiser": ("init_optimizer", "momentum = {", '"rescale_grad"'),
    "compiled": ("bind", "images = [", "Module"),
    "train-on": "forward_backward",
    "batch": ("x =", "y =", "mx.io.DataBatch"),
    "forward": "forward_backward",
    "backward": "forward_backward",
    "loss-out": "get_outputs",
    "train-off": "predictor.forward",
    "batches": ("for first", "part =", "padded =", "size ="),
}
UNSAID = "drop-seed declared device-network gradient reset no-gradient"

PHRASES = {
    "padding": '"pad"',
    "pooling": "half =",
    "device": "mx.Context",
    "weights taken out": "asnumpy",
    "save weights": "save_params",
    "restore weights": "load_params",
    "ONNX": "export_model",
    "record a pass": "probe =",
}
