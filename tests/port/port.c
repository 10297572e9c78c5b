/*
 * A small convolutional network, for a challenge:  ./port FOLDER ANSWER.safetensors
 *
 * Reads challenge.json and challenge.safetensors from FOLDER, does what the script asks, and
 * writes the answer. All arithmetic is float32. Input and answer are kept until the program ends.
 */
#include <cblas.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define die(...) (fprintf(stderr, "port: " __VA_ARGS__), fputc('\n', stderr), exit(2))

/* Zeroed memory, or `old` in a new size. One byte more, so that a size of 0 is no special case. */
static void *allocate(void *old, size_t size) {
    void *memory = old ? realloc(old, size + 1) : calloc(size + 1, 1);
    if (!memory) die("out of memory");
    return memory;
}

static char *join(const char *folder, const char *name) {
    char *path = allocate(NULL, strlen(folder) + strlen(name) + 1);
    sprintf(path, "%s/%s", folder, name);
    return path;
}

static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) || ftell(file) < 0) die("cannot read %s", path);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = allocate(NULL, *size);
    if (fread(bytes, 1, *size, file) != *size) die("cannot read %s", path);
    fclose(file);
    return bytes;
}

/* ---- JSON, without escapes, true, false and null: these files have none ---- */

typedef struct Json {
    char *key, *text; /* the name, of an object's member; the value, of a string */
    double number;
    struct Json *child, *next;
} Json;

/* Skips space, then takes one character if it is the wanted one. */
static int take(const char **at, char wanted) {
    *at += strspn(*at, " \t\r\n");
    return **at == wanted ? ++*at, 1 : 0;
}

/* NULL where no string begins */
static char *parse_text(const char **at) {
    if (!take(at, '"')) return NULL;
    size_t length = strcspn(*at, "\"\\");
    if ((*at)[length] != '"') die("JSON: a string has an escape or no end");
    char *text = memcpy(allocate(NULL, length), *at, length);
    *at += length + 1;
    return text;
}

static Json *parse_value(const char **at) {
    Json *value = allocate(NULL, sizeof *value), **last = &value->child;
    int is_object = take(at, '{');
    if (is_object || take(at, '[')) {
        while (!take(at, is_object ? '}' : ']')) {
            if (value->child && !take(at, ',')) die("JSON: a comma or bracket is missing");
            char *key = is_object ? parse_text(at) : NULL;
            if (is_object && !(key && take(at, ':'))) die("JSON: a key is missing");
            *last = parse_value(at);
            (*last)->key = key;
            last = &(*last)->next;
        }
    } else if (!(value->text = parse_text(at))) {
        char *end;
        value->number = strtod(*at, &end);
        if (end == *at) die("JSON: not a value: %.20s", *at);
        *at = end;
    }
    return value;
}

static Json *find(const Json *object, const char *key) {
    for (Json *item = object->child; item; item = item->next)
        if (item->key && !strcmp(item->key, key)) return item;
    return NULL;
}

static Json *need(const Json *object, const char *key) {
    Json *item = find(object, key);
    if (!item) die("JSON: no \"%s\"", key);
    return item;
}

static const char *text_of(const Json *value) {
    if (!value || !value->text) die("JSON: a name is missing");
    return value->text;
}

/* ---- Arrays, and safetensors files; the machine must be little-endian, as they are ---- */

typedef struct Array {
    const char *name;
    long rank, shape[4];
    size_t count, item; /* how many items, and the bytes of each: 4 for F32, 8 for I64 */
    void *data;
    struct Array *next;
} Array;

static Array *inputs, *answers;

/* Copies the data: an answer must not change with the weights, and a file may be unaligned. */
static void add_array(Array **list, const char *name, size_t item, long rank, const long *shape,
                      const void *data) {
    Array *array = allocate(NULL, sizeof *array);
    *array = (Array){.name = name, .rank = rank, .count = 1, .item = item, .next = *list};
    for (long i = 0; i < rank; i++) array->count *= (size_t)(array->shape[i] = shape[i]);
    array->data = memcpy(allocate(NULL, array->count * item), data, array->count * item);
    *list = array;
}

static void add_answer(const char *name, long rank, const long *shape, const float *values) {
    add_array(&answers, name, sizeof *values, rank, shape, values);
}

static void load_array(const Json *entry, const char *data, size_t data_size) {
    const char *dtype = text_of(need(entry, "dtype"));
    const Json *offset = need(entry, "data_offsets")->child;
    int is_label = !strcmp(dtype, "I64");
    if (!is_label && strcmp(dtype, "F32")) die("%s: dtype %s", entry->key, dtype);
    size_t begin = offset ? (size_t)offset->number : 0, item = is_label ? 8 : 4, size = item;
    long rank = 0, shape[4];
    for (Json *length = need(entry, "shape")->child; length; length = length->next) {
        if (rank == 4) die("%s: more than 4 dimensions", entry->key);
        size *= (size_t)(shape[rank++] = (long)length->number);
    }
    if (begin > data_size || size > data_size - begin) die("%s: not in the file", entry->key);
    add_array(&inputs, entry->key, item, rank, shape, data + begin);
}

static void load_arrays(const char *path) {
    size_t size;
    uint64_t header_size;
    char *bytes = read_file(path, &size);
    if (size < 8) die("%s: too short", path);
    memcpy(&header_size, bytes, 8);
    if (header_size > size - 8) die("%s: the header is too long", path);
    const char *header = memcpy(allocate(NULL, header_size), bytes + 8, header_size);
    for (Json *entry = parse_value(&header)->child; entry; entry = entry->next)
        if (entry->key && strcmp(entry->key, "__metadata__"))
            load_array(entry, bytes + 8 + header_size, size - 8 - header_size);
    free(bytes);
}

static const Array *input(const Json *reference, size_t item, long rank) {
    const char *name = text_of(reference);
    for (Array *a = inputs; a; a = a->next)
        if (!strcmp(a->name, name) && a->item == item && a->rank == rank) return a;
    die("no array %s of the right type and rank", name);
}

static void save_answers(const char *path) {
    FILE *file = fopen(path, "wb");
    if (!file) die("cannot write %s", path);
    uint64_t header_size = 0;
    size_t offset = 0;
    fwrite(&header_size, 8, 1, file); /* a place for the length, which is not known yet */
    for (Array *a = answers; a; a = a->next) {
        fprintf(file, "%c\"%s\":{\"dtype\":\"F32\",\"shape\":[", a == answers ? '{' : ',', a->name);
        for (long i = 0; i < a->rank; i++) fprintf(file, "%s%ld", i ? "," : "", a->shape[i]);
        fprintf(file, "],\"data_offsets\":[%zu,%zu]}", offset, offset + a->count * a->item);
        offset += a->count * a->item;
    }
    fputc('}', file);
    while (ftell(file) % 8) fputc(' ', file); /* aligns the data */
    header_size = (uint64_t)ftell(file) - 8;
    for (Array *a = answers; a; a = a->next) fwrite(a->data, a->item, a->count, file);
    rewind(file);
    fwrite(&header_size, 8, 1, file);
    if (ferror(file) | fclose(file)) die("cannot write %s", path);
}

/* ---- The network: its steps lead from one stage (an activation) to the next ---- */

enum { TAPS = 9, PARAMETERS = 12, STEPS = 8, DROPOUTS = 3, NONE = -1 };

static const char *const NAMES[PARAMETERS] = {
    "conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "conv3.weight", "conv3.bias",
    "conv4.weight", "conv4.bias", "dense1.weight", "dense1.bias", "dense2.weight", "dense2.bias",
};

/* `weight` counts in NAMES; the bias is the next one. */
static const struct { enum { CONV, POOL, DENSE } kind; int weight, relu, dropout; } PLAN[STEPS] = {
    {CONV, 0, 1, NONE}, {CONV, 2, 1, NONE}, {POOL, 0, 0, 0},
    {CONV, 4, 1, NONE}, {CONV, 6, 1, NONE}, {POOL, 0, 0, 1},
    {DENSE, 8, 1, 2}, {DENSE, 10, 0, NONE},
};

typedef struct {
    const Array *initial;
    float *value, *gradient, *velocity;
} Parameter;

/* Values lie in the order image, channel, row, column. */
typedef struct {
    int channels, side, size; /* of one image */
    float *value, *gradient;  /* of all images of the batch */
    float *mask;              /* of dropout: 0, or the factor that makes up for the zeros */
    float *columns;           /* of one image, for a convolution of it */
} Stage;

/* There is one model at a time. The next one uses its buffers again. */
static struct {
    Parameter parameter[PARAMETERS];
    float learning_rate, momentum, dropout[DROPOUTS];
    uint64_t random_state;
    int images; /* in this batch */
    Stage stage[STEPS + 1];
} net;

static void build_model(const Json *script) {
    const Json *settings = need(script, "hyperparameters"), *weights = need(script, "weights");
    const Json *rate = need(settings, "dropout")->child;
    net.learning_rate = (float)need(settings, "learning_rate")->number;
    net.momentum = (float)need(settings, "momentum")->number;
    net.random_state = (uint64_t)need(script, "seed")->number;
    for (int i = 0; i < DROPOUTS; i++, rate = rate->next) {
        if (!rate) die("JSON: too few dropouts");
        net.dropout[i] = (float)rate->number;
    }
    for (int i = 0; i < PARAMETERS; i++) {
        Parameter *p = &net.parameter[i];
        p->initial = input(need(weights, NAMES[i]), sizeof(float), i % 2 ? 1 : i < 8 ? 4 : 2);
        size_t size = p->initial->count * sizeof(float);
        p->value = memcpy(allocate(p->value, size), p->initial->data, size);
        p->gradient = memset(allocate(p->gradient, size), 0, size);
        p->velocity = memset(allocate(p->velocity, size), 0, size);
    }
}

/* Each layer has the size of its weights, which must fit the stage before. */
static void shape_stage(Stage *out, const Stage *in, int s) {
    out->channels = in->channels;
    out->side = PLAN[s].kind == DENSE ? 1 : PLAN[s].kind == POOL ? in->side / 2 : in->side;
    if (PLAN[s].kind == POOL) return;
    const Array *weight = net.parameter[PLAN[s].weight].initial;
    const Array *bias = net.parameter[PLAN[s].weight + 1].initial;
    size_t fan_in = (size_t)(PLAN[s].kind == DENSE ? in->size : in->channels * TAPS);
    out->channels = (int)bias->count;
    if (weight->count != fan_in * bias->count) die("%s: wrong shape", weight->name);
}

/* Takes these images as the batch, and makes room for what becomes of them. */
static void load_batch(const Array *images) {
    net.images = (int)images->shape[0];
    net.stage[0].channels = (int)images->shape[1];
    net.stage[0].side = (int)images->shape[2];
    if (images->shape[2] != images->shape[3]) die("%s: not square", images->name);
    for (int s = 0; s <= STEPS; s++) {
        Stage *stage = &net.stage[s];
        if (s) shape_stage(stage, stage - 1, s - 1);
        stage->size = stage->channels * stage->side * stage->side;
        size_t bytes = (size_t)stage->size * sizeof(float);
        stage->value = allocate(stage->value, bytes * net.images);
        stage->gradient = allocate(stage->gradient, bytes * net.images);
        stage->mask = allocate(stage->mask, bytes * net.images);
        stage->columns = allocate(stage->columns, bytes * TAPS);
    }
    memcpy(net.stage[0].value, images->data, images->count * sizeof(float));
}

/* splitmix64, scaled to [0, 1) in steps that a float holds exactly */
static float uniform(void) {
    uint64_t z = net.random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (float)((z ^ (z >> 31)) >> 40) * 0x1p-24f;
}

/* row-major C = A B + beta C, with A or B transposed where asked; A is then m x k, B is k x n */
static void multiply(int turn_a, int turn_b, int m, int n, int k, const float *a, const float *b,
                     float beta, float *c) {
    cblas_sgemm(CblasRowMajor, turn_a ? CblasTrans : CblasNoTrans,
                turn_b ? CblasTrans : CblasNoTrans, m, n, k, 1.0f, a, turn_a ? m : k,
                b, turn_b ? k : n, beta, c, n);
}

/* A row of columns for each channel and tap: the channel, shifted, with 0 as its padding. With
 * `back` the other way: what stands in the columns is added to the image. */
static void walk_columns(const Stage *in, float *image, int back) {
    int side = in->side;
    float *column = in->columns;
    for (int tap = 0; tap < in->channels * TAPS; tap++) {
        int down = tap / 3 % 3 - 1, right = tap % 3 - 1;
        int first = right < 0, last = side - (right > 0);
        for (int y = down; y < side + down; y++, column += side) {
            float *row = image + (tap / TAPS * side + y) * side + right;
            if (!back) memset(column, 0, side * sizeof(float));
            if (y < 0 || y >= side) continue;
            for (int x = first; x < last; x++)
                if (back) row[x] += column[x];
                else column[x] = row[x];
        }
    }
}

static void conv_forward(const Parameter *p, const Stage *in, Stage *out) {
    int area = out->side * out->side;
    for (int i = 0; i < net.images; i++) {
        float *y = out->value + i * out->size;
        for (int k = 0; k < out->size; k++) y[k] = p[1].value[k / area];
        walk_columns(in, in->value + i * in->size, 0);
        multiply(0, 0, out->channels, area, in->channels * TAPS, p[0].value, in->columns, 1, y);
    }
}

static void conv_backward(Parameter *p, Stage *in, const Stage *out) {
    int area = out->side * out->side, taps = in->channels * TAPS, n_out = out->channels;
    memset(in->gradient, 0, (size_t)in->size * net.images * sizeof(float));
    for (int i = 0; i < net.images; i++) {
        const float *g = out->gradient + i * out->size;
        for (int c = 0; c < n_out; c++) {
            float sum = 0; /* for each image its own, as short sums round less */
            for (int k = 0; k < area; k++) sum += g[c * area + k];
            p[1].gradient[c] += sum;
        }
        walk_columns(in, in->value + i * in->size, 0);
        multiply(0, 1, n_out, taps, area, g, in->columns, 1, p[0].gradient);
        if (in == net.stage) continue; /* nobody needs the gradient of the images */
        multiply(1, 0, taps, area, n_out, p[0].value, g, 0, in->columns);
        walk_columns(in, in->gradient + i * in->size, 1);
    }
}

static void dense_forward(const Parameter *p, const Stage *in, Stage *out) {
    for (int k = 0; k < net.images * out->size; k++) out->value[k] = p[1].value[k % out->size];
    multiply(0, 1, net.images, out->size, in->size, in->value, p[0].value, 1, out->value);
}

static void dense_backward(Parameter *p, Stage *in, const Stage *out) {
    for (int k = 0; k < net.images * out->size; k++)
        p[1].gradient[k % out->size] += out->gradient[k];
    multiply(1, 0, out->size, in->size, net.images, out->gradient, in->value, 1, p[0].gradient);
    multiply(0, 0, net.images, in->size, out->size, out->gradient, p[0].value, 0, in->gradient);
}

/* Of equal maxima the first one, by rows, gets the gradient: hence ">". */
static void pool(Stage *in, Stage *out, int back) {
    if (back) memset(in->gradient, 0, (size_t)in->size * net.images * sizeof(float));
    for (int to = 0; to < net.images * out->size; to++) {
        int best = to / out->side * 2 * in->side + to % out->side * 2;
        int others[] = {best + 1, best + in->side, best + in->side + 1};
        for (int k = 0; k < 3; k++)
            if (in->value[others[k]] > in->value[best]) best = others[k];
        if (back) in->gradient[best] = out->gradient[to];
        else out->value[to] = in->value[best];
    }
}

static void forward(int training) {
    for (int s = 0; s < STEPS; s++) {
        Stage *in = &net.stage[s], *out = in + 1;
        Parameter *p = &net.parameter[PLAN[s].weight];
        if (PLAN[s].kind == POOL) pool(in, out, 0);
        else if (PLAN[s].kind == CONV) conv_forward(p, in, out);
        else dense_forward(p, in, out);
        int drop = training && PLAN[s].dropout != NONE;
        float rate = drop ? net.dropout[PLAN[s].dropout] : 0;
        for (int k = 0; k < net.images * out->size; k++) {
            if (PLAN[s].relu && out->value[k] < 0) out->value[k] = 0;
            if (drop) out->value[k] *= out->mask[k] = uniform() < rate ? 0 : 1 / (1 - rate);
        }
    }
}

/* Adds to the gradients of the parameters, which the update left at 0. */
static void backward(void) {
    for (int s = STEPS - 1; s >= 0; s--) {
        Stage *in = &net.stage[s], *out = in + 1;
        Parameter *p = &net.parameter[PLAN[s].weight];
        for (int k = 0; k < net.images * out->size; k++) {
            if (PLAN[s].dropout != NONE) out->gradient[k] *= out->mask[k];
            if (PLAN[s].relu && out->value[k] <= 0) out->gradient[k] = 0;
        }
        if (PLAN[s].kind == POOL) pool(in, out, 1);
        else if (PLAN[s].kind == CONV) conv_backward(p, in, out);
        else dense_backward(p, in, out);
    }
}

/* Sets the gradient of the scores. The loss is taken from the scores: a probability may be 0. */
static float cross_entropy(const Array *labels) {
    int classes = net.stage[STEPS].size;
    float total = 0;
    for (int i = 0; i < net.images; i++) {
        const float *score = net.stage[STEPS].value + i * classes;
        float *gradient = net.stage[STEPS].gradient + i * classes, highest = score[0], sum = 0;
        int64_t label = ((const int64_t *)labels->data)[i];
        if (label < 0 || label >= classes) die("%s: no such class", labels->name);
        for (int c = 1; c < classes; c++) highest = fmaxf(highest, score[c]);
        for (int c = 0; c < classes; c++) sum += gradient[c] = expf(score[c] - highest);
        for (int c = 0; c < classes; c++)
            gradient[c] = (gradient[c] / sum - (c == label)) / net.images;
        total += logf(sum) + (highest - score[label]);
    }
    return total / net.images;
}

static float train_step(const Array *images, const Array *labels) {
    if (images->shape[0] != labels->shape[0]) die("%s: wrong length", labels->name);
    load_batch(images);
    forward(1);
    float loss = cross_entropy(labels);
    backward();
    for (int i = 0; i < PARAMETERS; i++) {
        Parameter *p = &net.parameter[i];
        for (size_t k = 0; k < p->initial->count; k++) {
            float step = net.learning_rate * p->gradient[k];
            p->velocity[k] = net.momentum * p->velocity[k] - step;
            p->value[k] += p->velocity[k];
            p->gradient[k] = 0;
        }
    }
    return loss;
}

/* ---- The script ---- */

static void answer_weights(const Json *prefix) {
    for (int i = 0; i < PARAMETERS; i++) {
        const Array *initial = net.parameter[i].initial;
        const char *name = join(text_of(prefix), NAMES[i]);
        add_answer(name, initial->rank, initial->shape, net.parameter[i].value);
    }
}

static void predict(const Json *item) {
    load_batch(input(need(item, "predict"), sizeof(float), 4));
    forward(0);
    const Json *name = find(item, "answer");
    const long shape[] = {net.images, net.stage[STEPS].size};
    if (name) add_answer(text_of(name), 2, shape, net.stage[STEPS].value);
}

static void train(const Json *item) {
    float *losses = allocate(NULL, 0);
    long steps = 0;
    for (Json *batch = need(item, "train")->child; batch; batch = batch->next) {
        const Array *images = input(batch->child, sizeof(float), 4);
        const Array *labels = input(batch->child->next, sizeof(int64_t), 1);
        losses = allocate(losses, (steps + 1) * sizeof(float));
        losses[steps++] = train_step(images, labels);
        char number[24];
        sprintf(number, "%ld", steps);
        const Json *prefix = find(need(item, "weights"), number);
        if (prefix) answer_weights(prefix);
    }
    const Json *name = find(item, "answer");
    if (name) add_answer(text_of(name), 1, &steps, losses);
    free(losses);
}

static void evaluate(const Json *item) {
    const Array *scores = input(need(item, "scores"), sizeof(float), 2);
    const Array *labels = input(need(item, "targets"), sizeof(int64_t), 1);
    long rows = scores->shape[0], classes = scores->shape[1], right = 0;
    if (labels->shape[0] != rows) die("%s: wrong length", labels->name);
    for (long i = 0; i < rows; i++) {
        const float *score = (const float *)scores->data + i * classes;
        long best = 0;
        for (long c = 1; c < classes; c++)
            if (score[c] > score[best]) best = c;
        right += best == ((const int64_t *)labels->data)[i];
    }
    const float share = (float)right / (float)rows;
    add_answer(text_of(need(item, "answer")), 0, NULL, &share);
}

int main(int argc, char **argv) {
    if (argc != 3) die("usage: port FOLDER ANSWER.safetensors");
    size_t size;
    const char *text = read_file(join(argv[1], "challenge.json"), &size);
    const Json *script = parse_value(&text);
    load_arrays(join(argv[1], "challenge.safetensors"));
    for (Json *model = need(script, "models")->child; model; model = model->next) {
        build_model(model);
        for (Json *item = need(model, "do")->child; item; item = item->next) {
            if (find(item, "predict")) predict(item);
            else if (find(item, "train")) train(item);
            else answer_weights(need(item, "weights"));
        }
    }
    evaluate(need(script, "evaluate"));
    save_answers(argv[2]);
    return 0;
}
