"""The mistakes of each pair: what is changed in the port, and what ``compare`` should say of it.

Those of ``_BLIND``, and those of ``_BLIND_2``, are by somebody who knew neither ``compare`` nor its
tests.
Those of ``_HELD_OUT`` were written down, with their places and words, before ``compare`` saw any.
Earlier ones that were held out are in view by now: the last three of BERT, GPT-2 and T5, the last
one of ResNet-50, and those of ``_SECOND``.
"""


class Mistake:
    """One wrong thing in the port.

    name: how the pair's module knows it. truth: the cause, in words. where: a pattern of the places
    that show it first, in A or in B. says: patterns of the text that name it, all of them needed.
    """

    def __init__(self, name, truth, where, says, steps=False):
        self.name, self.truth, self.where, self.says = name, truth, where, says
        self.steps = steps  # it shows in steps of training alone


BERT = [
    Mistake(
        "epsilon",
        "LayerNorm's epsilon is 1e-12 in A, 1e-3 in B",
        r"embeddings\.LayerNorm",
        [r"LayerNorm, epsilon (1e-12|.* or less) in A, (LayerNorm, epsilon )?0\.001 in B"],
    ),
    Mistake(
        "gelu",
        "GELU by erf in A, by tanh in B",
        r"layer\.0\.intermediate",
        [r"GELU \(by erf\) in A, GELU \(by tanh\) in B"],
    ),
    Mistake(
        "mask ignored",
        "B does not mask the padding",
        r"layer\.0\.attention\.self|layer_._0.attention.self",
        [r"mask"],
    ),
    Mistake(
        "positions from 2",
        "B's positions begin at 2: each gets the vector of two places later",
        r"position_embeddings|embeddings",
        [r"moved by -?2|positions are counted"],
    ),
    Mistake(
        "output transposed",
        "attention.output.dense of layer 2 is transposed",
        r"layer\.2\.attention\.output\.dense",
        [r"weight .*transposed"],
    ),
    Mistake(
        "query and key swapped",
        "queries and keys of layer 1 are exchanged",
        r"layer\.1\.attention\.self\.(query|key)",
        [r"exchanged|swapped|order"],
    ),
    Mistake(
        "not scaled",
        "B does not divide the scores by 4, the root of a head's width",
        r"layer\.0\.attention\.self|layer_._0.attention.self",
        [r"scale"],
    ),
    Mistake(
        "all tensors decay",
        "biases and norms do not decay in A; they do in B",
        r"step1",
        [r"no decay of|not of|spare|decay"],
        steps=True,
    ),
    Mistake(
        "mask the other way round",
        "B sees the padding alone",
        r"layer\.0\.attention\.self|layer_._0.attention.self",
        [r"mask"],
    ),
    Mistake(
        "epsilon of one norm",
        "the last layer's norm has an epsilon of 1e-12 in A, 1e-5 in B",
        r"layer\.2\.output",
        [r"LayerNorm, epsilon (1e-12|.* or less) in A, (LayerNorm, epsilon )?1e-05 in B"],
    ),
    Mistake(
        "residual missing",
        "attention's input is not added to its output in B's layer 1",
        r"layer\.1\.attention\.output",
        [r"residual|sum of 2|computed from .* and "],
    ),
]
BERT_DOUBLES = [
    ("gelu", "positions from 2"),
    ("epsilon", "mask ignored"),
    ("query and key swapped", "output transposed"),
]

GPT2 = [
    Mistake(
        "gelu",
        "GELU by tanh in A, by erf in B",
        r"h\.0\.mlp\.act",
        [r"GELU \(by tanh\) in A, GELU \(by erf\) in B"],
    ),
    Mistake(
        "epsilon",
        "LayerNorm's epsilon is 1e-5 in A, 1e-6 in B",
        r"h\.0\.ln_1",
        [r"LayerNorm, epsilon 1e-05 in A, (LayerNorm, epsilon )?1e-06 in B"],
    ),
    Mistake(
        "projection transposed",
        "attn.c_proj of block 1 is transposed",
        r"h\.1\.attn\.c_proj",
        [r"weight .*transposed"],
    ),
    Mistake(
        "query and key swapped",
        "the fused product of block 0 has keys, queries, values",
        r"h\.0\.attn\.c_attn",
        [r"exchanged|swapped|order"],
    ),
    Mistake(
        "last norm missing", "ln_f is left out of B", r"transformer\.ln_f|lm_head", [r"[Nn]orm"]
    ),
    Mistake(
        "not tied",
        "B's head is no longer the embedding: the embedding's gradient lacks the head's part",
        r"(grad1|step1) transformer\.wte|lm_head",
        [r"tie|shared|lm_head"],
        steps=True,
    ),
    Mistake(
        "mask one further",
        "B's causal mask lets each token see the next one",
        r"h\.0\.attn",
        [r"1 after it, too"],
    ),
    Mistake(
        "dropout on",
        "B drops a tenth, with dropout on",
        r"transformer\.drop|h\.0\.ln_1",
        [r"by dropout"],
    ),
    Mistake(
        "decay not times the rate",
        "decay 0.1 times the rate in A; 0.1 in B, not times the rate",
        r"step1",
        [r"not times the rate.* in B"],
        steps=True,
    ),
    Mistake(
        "queries, keys and values per head",
        "the fused product of block 1 has the queries, keys and values of each head together",
        r"h\.1\.attn\.c_attn",
        [r"transposed|order|heads"],
    ),
    Mistake(
        "shared matrix scaled",
        "the embeddings are multiplied by 8, the root of their width, in B",
        r"transformer\.wte",
        [r"times 8"],
    ),
    Mistake(
        "positions from 1",
        "B's positions begin at 1",
        r"transformer\.wpe",
        [r"moved by -?1|positions? (are )?(counted|from)"],
    ),
]
GPT2_DOUBLES = [
    ("gelu", "projection transposed"),
    ("epsilon", "query and key swapped"),
    ("not tied", "decay not times the rate"),
]

T5 = [
    Mistake(
        "decoder's buckets of both directions",
        "B's decoder sorts distances into buckets of both directions",
        r"decoder\.block\.0\.layer\.0\.SelfAttention",
        [r"bidirectional|both directions|bucket|added to the scores|bias"],
    ),
    Mistake(
        "norm subtracts the mean",
        "RMSNorm in A, LayerNorm in B",
        r"encoder\.block\.0\.layer\.0\.layer_norm",
        [r"RMSNorm.* in A, LayerNorm.* in B"],
    ),
    Mistake(
        "scaled",
        "B divides the scores by 4, the root of a head's width",
        r"encoder\.block\.0\.layer\.0\.SelfAttention",
        [r"scale"],
    ),
    Mistake(
        "head not scaled",
        "B does not multiply by d_model**-0.5 = 0.125 before the head",
        r"lm_head",
        [r"times 8|0\.125"],
    ),
    Mistake(
        "wi_0 and wi_1 swapped",
        "the two matrices of the gated layer in encoder block 1 are exchanged",
        r"encoder\.block\.1\.layer\.1\.DenseReluDense\.wi_[01]",
        [r"exchanged|swapped|order"],
    ),
    Mistake(
        "cross-attention's mask ignored",
        "B's cross-attention sees the encoder's padding",
        r"decoder\.block\.0\.layer\.1\.EncDecAttention",
        [r"mask"],
    ),
    Mistake(
        "bias in the first block alone",
        "the relative position bias is not added in the blocks after the first",
        r"encoder\.block\.1\.layer\.0\.SelfAttention",
        [r"bias|added|position"],
    ),
    Mistake(
        "clipped per tensor",
        "gradients clipped to a global norm of 0.5 in A, each tensor's in B",
        r"step1",
        [r"global norm of 0\.5.* in A", r"each tensor's gradient clipped to a norm of 0\.5.* in B"],
        steps=True,
    ),
    Mistake(
        "encoder's last norm missing",
        "the encoder's final_layer_norm is left out of B",
        r"encoder\.final_layer_norm|encoder/final_layer_norm",
        [r"after a norm|RMSNorm"],
    ),
    Mistake(
        "gelu",
        "GELU by tanh in A, by erf in B",
        r"encoder\.block\.0\.layer\.1\.DenseReluDense\.act",
        [r"GELU \(by tanh\) in A, GELU \(by erf\) in B"],
    ),
    Mistake(
        "epsilon",
        "RMSNorm's epsilon is 1e-6 in A, 1e-5 in B",
        r"encoder\.block\.0\.layer\.0\.layer_norm",
        [r"RMSNorm, epsilon 1e-06 in A, (RMSNorm, epsilon )?1e-05 in B"],
    ),
]
T5_DOUBLES = [
    ("norm subtracts the mean", "head not scaled"),
    ("scaled", "wi_0 and wi_1 swapped"),
    ("cross-attention's mask ignored", "decoder's buckets of both directions"),
]

RESNET = [
    Mistake(
        "epsilon",
        "batch norms' epsilon is 1.001e-5 in A, 1e-3 in B",
        r"conv1_bn",
        [r"epsilon 1(\.001)?e-05 in A, (batch norm, epsilon )?0\.001 in B"],
    ),
    Mistake(
        "stride in the 3 x 3",
        "each stage's first block strides in its 3 x 3 convolution, not in the first 1 x 1",
        r"conv3_block1_1_conv",
        [r"stride"],
    ),
    Mistake(
        "stem padded as 'same'",
        "the stem pads 2 before and 3 after, not 3 on each side",
        r"conv1_conv",
        [r"padding 3 in A.* in B|padding"],
    ),
    Mistake(
        "colours in the other order",
        "the stem's input channels are reversed: RGB and BGR",
        r"conv1_conv",
        [r"channels|order|revers|flip"],
    ),
    Mistake(
        "kernel's height and width exchanged",
        "the 3 x 3 kernel of stage 2, block 1 is transposed in space",
        r"conv3_block1_2_conv",
        [r"height and width|transposed"],
    ),
    Mistake(
        "biases dropped",
        "the convolutions' biases are lost",
        r"conv1_conv|conv1_bn",
        [r"bias"],
    ),
    Mistake(
        "momentum of the batch norms",
        "running statistics keep 0.99 in A, 0.01 in B",
        r"step1 .*(moving|bn)",
        [r"0\.99 in A.*0\.01 in B|momentum"],
        steps=True,
    ),
    Mistake(
        "Nesterov",
        "SGD, momentum 0.9 in A, Nesterov momentum in B",
        r"step1",
        [r"SGD, momentum 0\.9, .*in A; SGD, Nesterov momentum 0\.9, .* in B"],
        steps=True,
    ),
    Mistake(
        "pool padded as 'same'",
        "the max pool pads 0 before and 1 after, not 1 on each side",
        r"pool1_pool|maxpool",
        [r"padding 1 in A.* 0 in B"],
    ),
]
RESNET_DOUBLES = [
    ("epsilon", "stem padded as 'same'"),
    ("stride in the 3 x 3", "kernel's height and width exchanged"),
    ("colours in the other order", "biases dropped"),
]

BERT_SECOND = [
    Mistake(
        "sum after the norm",
        "attention's input is added after B's norm in layer 1, before it in A",
        r"layer\.1\.attention\.output|layer_._1.attention.output",
        [r"sum of 2|another array added|residual|computed from .* and "],
    ),
    Mistake(
        "softmax in bfloat16",
        "B computes the softmax of the scores in bfloat16",
        r"layer\.0\.attention\.self|layer_._0.attention.self",
        [r"bfloat16"],
    ),
    Mistake(
        "epsilon of Adam",
        "AdamW's epsilon is 1e-8 in A, 1e-7 in B",
        r"step[123]",
        [r"epsilon 1e-08.* in A", r"epsilon 1e-07.* in B"],
        steps=True,
    ),
]

GPT2_SECOND = [
    Mistake(
        "one plus the weight",
        "B adds 1 to the weight of ln_2 in block 1",
        r"h\.1\.ln_2",
        [r"times w in A, times 1 \+ w in B|1 \+ w"],
    ),
    Mistake(
        "residual after the norm",
        "attention's output is added to the norm's result in B, to the norm's input in A",
        r"h\.0\.(ln_2|attn)|h/0/add",
        [r"sum of 2|computed from .* and |residual"],
    ),
    Mistake(
        "products in bfloat16",
        "B rounds both factors of every matrix product to bfloat16",
        r"h\.0\.attn\.c_attn",
        [r"bfloat16"],
    ),
    Mistake(
        "warm-up one step late",
        "the rate rises to 0.01 in three steps: from a third of it in A, from 0 in B",
        r"step1",
        [
            r"0\.0033\d*, then 0\.0066\d*, then 0\.01.* in A",
            r"0, then 0\.0033\d*, then 0\.0066\d*.* in B",
        ],
        steps=True,
    ),
]

T5_SECOND = [
    Mistake(
        "norm rounded before its weight",
        "B's norms round to bfloat16 before they multiply by their weights",
        r"encoder\.block\.0\.layer\.0\.layer_norm",
        [r"bfloat16"],
    ),
    Mistake(
        "causal mask missing",
        "a token of B's decoder sees all that follow it",
        r"decoder\.block\.0\.layer\.0\.SelfAttention",
        [r"(no causal mask|all tokens|all keys).* in B"],
    ),
    Mistake(
        "decay in the gradient",
        "decay 0.1 times the rate in A; B adds 0.1 w to the gradient",
        r"step1",
        [r"times the rate.* in A", r"added to the gradient.* in B"],
        steps=True,
    ),
]

RESNET_SECOND = [
    Mistake(
        "ReLU before the sum",
        "a ReLU of the branch is added to the shortcut in B's stage 3, block 1; of the sum in A",
        r"conv3_block1_(add|out)|layer2\.0\.(act3|bn3)",
        [r"ReLU"],
    ),
    Mistake(
        "labels smoothed",
        "B smooths the labels by 0.1",
        r"loss1",
        [r"smoothing 0\.1"],
        steps=True,
    ),
]

BERT_HELD_OUT = [
    Mistake(
        "token types ignored",
        "the vectors of the token types are not added in B",
        r"embeddings",
        [r"token_type|[Tt]oken types"],
    ),
    Mistake(
        "pooler without its tanh",
        "the pooler's dense layer has no activation in B",
        r"pooler",
        [r"tanh in A"],
    ),
    Mistake(
        "bias of the values dropped",
        "the bias of layer 1's values is 0 in B",
        r"layer\.1\.attention\.self\.value",
        [r"bias|same vector|constant"],
    ),
]

GPT2_HELD_OUT = [
    Mistake(
        "causal mask ignored",
        "each of B's tokens sees all",
        r"h\.0\.attn",
        [r"mask"],
    ),
    Mistake(
        "blocks exchanged",
        "B has the weights of block 2 in block 1, and those of 1 in 2",
        r"h\.1\.ln_1",
        [r"weight|factor|exchanged"],
    ),
    Mistake(
        "bias of the first dense layer dropped",
        "the bias of block 1's mlp.c_fc is 0 in B",
        r"h\.1\.mlp\.c_fc",
        [r"bias|same vector|constant"],
    ),
    Mistake(
        "vocabulary moved by one",
        "B's embedding has each token's vector in the row after it",
        r"transformer\.wte",
        [r"row|moved|order"],
    ),
    Mistake(
        "norms exchanged",
        "B's block 0 has ln_2's weights in ln_1, and ln_1's in ln_2",
        r"h\.0\.ln_1",
        [r"weight|factor|exchanged"],
    ),
]

T5_HELD_OUT = [
    Mistake(
        "ReLU for GELU",
        "GELU by tanh in A, ReLU in B",
        r"encoder\.block\.0\.layer\.1\.DenseReluDense",
        [r"GELU \(by tanh\) in A, ReLU in B"],
    ),
    Mistake(
        "causal mask ignored",
        "each token of B's decoder sees all",
        r"decoder\.block\.0\.layer\.0\.SelfAttention",
        [r"mask"],
    ),
    Mistake(
        "distances up to 20",
        "the last bucket of distances begins at 128 in A, at 20 in B",
        r"encoder\.block\.0\.layer\.0\.SelfAttention",
        [r"bucket|bias|added to the scores"],
    ),
    Mistake(
        "keys and values exchanged",
        "keys and values of the cross-attention in decoder block 1 are exchanged",
        r"decoder\.block\.1\.layer\.1\.EncDecAttention\.[kv]",
        [r"exchanged|swapped|order"],
    ),
]

RESNET_HELD_OUT = []

BERT_BLIND = [
    Mistake(
        "weights of 8 bits",
        "the weight of layer 1's output.dense is rounded to whole 127ths of its largest in B",
        r"layer\.1\.output|layer_\._1[./]output",
        [r"int8|8[- ]bit|[Qq]uanti[sz]|\b127|\b25[456]\b|multiples of|levels", r"\A(?!.*float16)"],
    ),
    Mistake(
        "last token pooled",
        "the pooler takes the first token in A, the last one in B",
        r"pooler",
        [r"[Ll]ast (token|position|row|one|of)|(tokens?|positions?|index|rows?) (13|14|-1)\b"],
    ),
    Mistake(
        "averages not corrected",
        "AdamW corrects its averages for their start at 0 in A, not in B",
        r"step1",
        [r"correct|debias", r"\b(no|not|never|without|lacks?|un\w+|missing|leaves? out|alone)\b"],
        steps=True,
    ),
]
BERT_BLIND_DOUBLES = [("weights of 8 bits", "last token pooled")]

GPT2_BLIND = [
    Mistake(
        "window in one block",
        "each token of B's block 1 sees 8 tokens, itself and the 7 before it; in A all before it",
        r"h\.1\.attn|h/1/attn",
        [
            r"[Ww]indow|[Ll]ocal|[Ss]liding|last|latest|nearest|recent|more than|only|alone|sees",
            r"\b([78]|[Ss]even|[Ee]ight)\b.*(token|key|position|before|back)|[Ww]indow.*\b[78]\b",
        ],
    ),
    Mistake(
        "variance unbiased",
        "ln_2 of block 2 divides by 64 in its variance in A, by 63 in B",
        r"h\.2\.ln_2|h/2/ln_2",
        [
            r"[Uu]nbiased|\b[nN] ?- ?1\b|minus 1|Bessel|ddof|degrees? of freedom|[Ss]ample variance"
            r"|\b63\b|1\.01587?|0\.992"
        ],
    ),
    Mistake(
        "second beta",
        "AdamW's second beta is 0.999 in A, 0.95 in B",
        r"step2",
        [r"0\.999\b.* in A", r"0\.95\b.* in B"],
        steps=True,
    ),
]
GPT2_BLIND_DOUBLES = [("window in one block", "variance unbiased")]

T5_BLIND = [
    Mistake(
        "distances of the other sign",
        "B's encoder counts distances from the key to the query: a key after it for one before it",
        r"encoder[./]block[./]0[./]layer[./]0[./]SelfAttention",
        [
            r"\b[Ss]ign|[Rr]evers|[Mm]irror|[Nn]egat|[Oo]pposite|[Tt]ranspose|[Ff]lipped|minus"
            r"|other (way|direction)|exchanged|swapped",
            r"[Pp]osition|bias|[Bb]ucket|[Dd]istance|added to the scores|before.*after",
        ],
    ),
    Mistake(
        "wo in float16",
        "the weight of decoder block 2's wo is rounded to float16 in B",
        r"decoder[./]block[./]2[./]layer[./]2[./]DenseReluDense",
        [r"(?<!b)float16|(?<!b)\bfp16|[Hh]alf[- ](precision|floats?)|1[01] bits"],
    ),
    Mistake(
        "mean of each sequence",
        "the loss is the mean over all tokens in A, the mean of each sequence's mean in B",
        r"loss1|grad1",
        [
            r"([Ee]ach|[Ee]very|[Pp]er|of an?|by) (sequence|row|sample|example)"
            r"|(means?|average) of (the )?(means|averages)"
            r"|(sequences|rows|samples|examples) (weigh|count)"
        ],
        steps=True,
    ),
]
T5_BLIND_DOUBLES = [("distances of the other sign", "wo in float16")]

RESNET_BLIND = [
    Mistake(
        "shortcut averaged",
        "stage 4's shortcut takes every other pixel in A, means of 2 x 2 pixels in B",
        r"conv4_block1_0_(conv|bn)|layer3\.0\.downsample",
        [
            r"[Aa]verage|\b[Mm]eans?\b|\b[Aa]vg",
            r"[Pp]ool|\b2 ?(x|×|by) ?2\b|\b[Ff]our\b|\b4\b",
            r"\A(?!.*\b[Mm]ax)",
        ],
    ),
    Mistake(
        "largest, not the mean",
        "the last pool is the mean of all pixels in A, the largest of them in B",
        r"avg_pool|global_pool",
        [r"[Mm]ean|[Aa]verage|\b[Aa]vg", r"\b[Mm]ax|[Ll]argest|[Gg]reatest"],
    ),
    Mistake(
        "norms frozen",
        "in training, batch norms use the batch's statistics in A, running ones in B",
        r"(loss|grad|step)1",
        [
            r"([Rr]unning|[Mm]oving|[Bb]atch('s)?) (statistics|means?|averages?)|[Ff]rozen"
            r"|[Ee]val(uation)?\b|[Tt]raining mode|statistics of (the|this|each) batch",
            r"\A(?!.*0\.99)",
        ],
        steps=True,
    ),
]
RESNET_BLIND_DOUBLES = [("shortcut averaged", "largest, not the mean")]

BERT_BLIND_2 = [
    Mistake(
        "queries masked too",
        "B masks the padding's queries too: they weigh all tokens alike",
        r"layer\.0\.attention\.self|layer_\._0[./]attention[./]self",
        [
            r"[Mm]ask|[Pp]add",
            r"[Pp]add\w*('s)?( tokens?'?)?( as)? (quer|row)|([Pp]added|[Mm]asked) (quer|row)"
            r"|(quer(y|ies)|rows?) (of|at|for|from|that are|which are) (the |all )?(padd|mask)"
            r"|[Uu]niform|[Ee]venly|[Ee]qually|\balike\b|same (weight|probabilit)"
            r"|all (keys|tokens) .*masked|mean of (all|the) values|both (axes|ways|sides)",
        ],
    ),
    Mistake(
        "norms not loaded",
        "the norms' weights are 1 and their biases 0 in B, as before the checkpoint was read",
        r"embeddings[./]LayerNorm",
        [
            r"[Ww]eight|[Gg]ain|[Ss]cale|[Gg]amma|[Bb]ias|[Bb]eta\b|[Ff]actor",
            r"(is|are|to|all|by|times|=) 1(\.0)?\b(?! ?[+/])|\b1(\.0)? in B|\bones\b"
            r"|[Ww]ithout (its|the|a)\b|\bno (weight|gain|scale|gamma|factor)|[Mm]issing|[Ii]nitial"
            r"|[Dd]efault|not (loaded|applied|carried|multipl|copied)|left out",
        ],
    ),
    Mistake(
        "padding's vector 0",
        "the vector of token 0, the padding, is 0 in B",
        r"word_embeddings|embeddings/Gather\b",
        [
            r"(row|[Tt]oken|\bids?|[Ii]ndex|[Ee]ntry|[Vv]ector) 0\b|[Ff]irst row|[Pp]adding",
            r"\bzero(s|ed)?\b|(is|are|to|all|being|=) 0\b|\b0 in B|[Mm]issing|no vector|nothing",
        ],
    ),
    Mistake(
        "gradient stopped",
        "no gradient goes from B's layer 1 to what is before it",
        r"(grad|step)1 .*(embeddings|layer[._]+0)",
        [
            r"[Gg]radient|\bgrads?\b|[Tt]rained|[Uu]pdated|[Uu]nchanged|[Ss]tays?|\bmoved?\b",
            r"\bno\b|\bnone\b|[Uu]nchanged|[Ss]tays?|[Ss]top|\bzero\b|(is|are|to|all|by) 0\b"
            r"|[Dd]etach|\bcut\b|[Mm]issing|[Ff]rozen|only in A|lacks"
            r"|not (trained|updated|mov|chang|reach|flow|go|given|record|get)",
        ],
        steps=True,
    ),
]

GPT2_BLIND_2 = [
    Mistake(
        "8 heads",
        "4 heads of 16 in A, 8 heads of 8 in B",
        r"h[./]0[./]attn",
        [r"\b[Hh]eads?\b", r"\b8\b|\b[Ee]ight\b|[Tt]wice|[Nn]umber|[Ss]plit|[Mm]ore"],
    ),
    Mistake(
        "softmax over queries",
        "the softmax is over the keys in A, over the queries in B",
        r"h[./]0[./]attn",
        [
            r"[Ss]oftmax|sum to 1|add up to 1|normali[sz]ed|[Pp]robabilit|[Ww]eights",
            r"\b[Aa]x[ei]s\b|(over|across|along) (the |all |its )?(quer|rows|columns)"
            r"|([Cc]olumns?|quer\w+).*(sums?|adds?) (up )?to 1|each (key|column)",
        ],
    ),
    Mistake(
        "norms over tokens",
        "norms take mean and variance over a token's width in A, over all tokens too in B",
        r"h[./]0[./]ln_1",
        [
            r"[Nn]orm|[Mm]ean|[Vv]ariance|[Ss]tatistics",
            r"((over|across|among) (the |all |both |whole |an? |its |each )*"
            r"|(of|from|with) (all|both|other|(the )?whole) )"
            r"(tokens|positions|sequences?|examples?|(last )?(two|2) ax[ei]s)\b"
            r"|\b[Aa]x[ei]s\b|(tokens|positions) (as well|too|together|also)"
            r"|(shared|same).* (tokens|positions)",
        ],
    ),
    Mistake(
        "schedule stepped twice",
        "the rate falls to 0 in six steps in A, in three in B",
        r"step2",
        [
            r"0\.0083\d*.* in A|(rate|schedule|falls|decays).*twice|twice.*(rate|schedule)"
            r"|(\b[Rr]ate|schedule).*\b(6|six)\b.* in A|\b[Rr]ate.*\b(0\.8|1\.25)",
            r"0\.006(6\d*|7).* in B|(rate|schedule|falls|decays).*twice|twice.*(rate|schedule)"
            r"|(\b[Rr]ate|schedule).*\b(3|three)\b.* in B|\b[Rr]ate.*\b(0\.8|1\.25)",
        ],
        steps=True,
    ),
]

T5_BLIND_2 = [
    Mistake(
        "heads not transposed back",
        "B joins the heads' results without bringing tokens before heads",
        r"encoder[./]block[./]0[./]layer[./]0[./]SelfAttention",
        [
            r"\border|[Rr]eshap|[Pp]ermut|[Rr]earrang|[Ss]huffl|\b[Aa]xes\b|[Ll]ayout"
            r"|[Hh]eads.*(transpos|[Jj]oin|[Mm]erg|[Mm]ixed|before|after)"
            r"|([Tt]ranspos|[Jj]oin|[Mm]erg).*[Hh]eads"
        ],
    ),
    Mistake(
        "shifted twice",
        "B shifts the decoder's tokens, which are shifted already: each comes one place later",
        r"shared, call 2|decoder[./](shared|dropout|block[./]0[./]layer[./]0)",
        [
            r"[Ss]hift|[Mm]oved by -?1|\b(one|1) (place|position|token|row|step)s? "
            r"(later|earlier|further|before|after)|by (one|-?1)\b|[Pp]revious token|[Ss]tart token"
        ],
    ),
    Mistake(
        "encoder causal",
        "a token of B's encoder sees those before it alone",
        r"encoder[./]block[./]0[./]layer[./]0[./]SelfAttention",
        [
            r"[Cc]ausal|[Tt]riang|([Tt]okens?|[Kk]eys?|positions?|ones|those|all) "
            r"(that (are )?)?(after|before|follow|later|earlier|up to)"
            r"|([Ll]ater|[Ff]uture|[Ff]ollowing|[Ee]arlier|[Pp]re\w+) (tokens|keys|positions|ones)",
            r"\A(?!.*([Cc]ausal( mask)? in A|[Nn](o|ot) causal.* in B|[Dd]istance|[Bb]ucket))",
        ],
    ),
    Mistake(
        "padding counted",
        "the loss leaves out the padding's labels in A; in B they count, as token 0",
        r"loss1",
        [
            r"[Pp]adding|[Ii]gnor|-100|[Cc]ount|[Ll]eft out|[Ll]eaves out|[Vv]alid"
            r"|[Mm]ask.*([Ll]abel|[Ll]oss)|([Ll]abel|[Ll]oss).*[Mm]ask"
            r"|all (40|tokens|labels|positions)|([Tt]oken|[Ll]abel)s? 0\b|\b22 (of|tokens|labels)",
            r"\A(?!.*([Aa]ttention|\b[Kk]eys?\b|[Ss]equence's mean))",
        ],
        steps=True,
    ),
]

RESNET_BLIND_2 = [
    Mistake(
        "pictures reshaped",
        "B's pictures are reshaped to have channels first, not transposed",
        r"input|^x$|conv1",
        [
            r"[Rr]eshap|\border|[Ll]ayout|[Pp]ermut|[Rr]earrang|[Ss]huffl|[Ss]crambl|\b[Aa]xes\b"
            r"|(not|without|instead of|never).*transpos|[Cc]hannels (first|last)"
        ],
    ),
    Mistake(
        "kernels turned round",
        "the kernels are turned by 180 degrees in B, as for a convolution that is no correlation",
        r"^conv1",
        [
            r"\b180\b|[Ff]lip|[Rr]evers|[Rr]otat|[Tt]urned|[Mm]irror|[Bb]ackwards"
            r"|[Oo]ther way round|upside down",
            r"\A(?!.*([Cc]hannels?|[Cc]olou?rs?) (are |is |in |the )*(revers|flip|other|order))",
        ],
    ),
    Mistake(
        "divided by the variance",
        "batch norms divide by the root of the running variance in A, by all of it in B",
        r"conv1_bn|^bn1",
        [
            r"[Vv]ariance|running_var|[Dd]eviation|\bstd\b|[Ff]actors?|[Ww]eight|[Ss]cale",
            r"\b[Rr]oot|[Ss]quare|[Dd]eviation|\bstd\b|[Pp]ower|\*\* ?2|\^ ?2|of the variance",
        ],
    ),
    Mistake(
        "gradients not cleared",
        "B's gradients are added to those of the step before",
        r"(grad|step)2",
        [
            r"[Gg]radient|\bgrads?\b",
            r"[Aa]ccumul|[Cc]leared|\bzeroed|zero_grad|set to (0|zero)|[Rr]eset|[Pp]revious"
            r"|[Ee]arlier|[Ss]um of (all|the|both|two|2|its|grad|steps)|(steps?|one) before"
            r"|[Aa]dded (up|to (those|that|the (last|first|old|ones?)))"
            r"|(of|from|and|plus|\+) (step 1|grad1|the first)",
        ],
        steps=True,
    ),
]

SD3 = [
    Mistake(
        "scale and shift exchanged",
        "of two parts, the scale is the first in A; B takes the second, with A's weights",
        r"norm1_context|ada_layer_norm|norm_out",
        [r"plus the second in A, .*plus the first in B"],
    ),
    Mistake(
        "gates exchanged",
        "in B's block 0, the text's two gates are exchanged",
        r"norm2_context|context_block\.norm2|norm1_context\.linear",
        [r"in the order 0, 1, 5, 3, 4, 2"],
    ),
    Mistake(
        "gates missing",
        "B's text adds its branches without gates",
        r"norm2_context|context_block\.norm2",
        [r"second times the third of 6 parts.* in A; LayerNorm, epsilon 1e-06; .* in B"],
    ),
    Mistake(
        "queries and keys exchanged",
        "in B's block 1, queries and keys of the image are exchanged",
        r"blocks\.1\.attn|block_1\.x_block",
        [r"exchanged|swapped|order"],
    ),
    Mistake(
        "scaled by the whole width",
        "scores are divided by 4, the root of a head's width, in A; by 8 in B",
        r"blocks\.0\.attn|block_0\.(x|context)_block\.attention_proj",
        [r"scale"],
    ),
    Mistake(
        "epsilon",
        "the image's second norm has an epsilon of 1e-6 in A, 1e-3 in B",
        r"blocks\.0\.norm2",
        [r"by another epsilon in a LayerNorm: B's is larger"],
    ),
    Mistake(
        "gelu",
        "GELU by tanh in A, by erf in B",
        r"blocks\.0\.ff\.net\.0",
        [r"GELU \(by tanh\) in A, GELU \(by erf\) in B"],
    ),
    Mistake(
        "queries not normed",
        "B does not norm the image's queries",
        r"blocks\.0\.attn|block_0\.x_block",
        [r"[Nn]orm"],
    ),
    Mistake(
        "positions from the corner",
        "A takes the middle of the table of positions, B its upper left",
        r"pos_embed|position_embedding",
        [r"moved|positions"],
    ),
    Mistake(
        "time from 0 to 1",
        "B's time steps are divided by 1000",
        r"timestep",
        [r"3, 999, 500, 17 in A, 0\.003"],
    ),
    Mistake(
        "scale without 1",
        "B scales by the part itself before its MLP, not by 1 plus it",
        r"blocks\.0\.ff\.|x_block\.mlp",
        [r"1 \+"],
    ),
    Mistake(
        "sines first",
        "the time step's cosines come first in A, its sines in B",
        r"timestep_embed",
        [r"sines"],
    ),
]
