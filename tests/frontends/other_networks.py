"""Transformers, language models, generative networks and networks from image to image, as their authors write them,
scaled down."""

import math
from typing import List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

VOCABULARY = 11
CLASSES = 7


def drop_path(x, drop_prob: float = 0.0, training: bool = False):
    if drop_prob == 0.0 or not training:
        return x
    keep_prob = 1 - drop_prob
    shape = (x.shape[0],) + (1,) * (x.ndim - 1)
    random_tensor = x.new_empty(shape).bernoulli_(keep_prob)
    random_tensor.div_(keep_prob)
    return x * random_tensor


class DropPath(nn.Module):
    def __init__(self, drop_prob: float = 0.0):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        return drop_path(x, self.drop_prob, self.training)


class Mlp(nn.Module):
    def __init__(self, features, hidden, drop=0.0):
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden, features)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        x = self.drop(self.act(self.fc1(x)))
        return self.drop(self.fc2(x))


class Attention(nn.Module):
    def __init__(self, dim, num_heads=2, qkv_bias=True, attn_drop=0.1, proj_drop=0.1):
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.attn_drop = nn.Dropout(attn_drop)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = (q @ k.transpose(-2, -1)) * self.scale
        attn = attn.softmax(dim=-1)
        attn = self.attn_drop(attn)
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.proj_drop(self.proj(x))


class Block(nn.Module):
    def __init__(self, dim, num_heads, mlp_ratio=2.0, drop_path=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = Attention(dim, num_heads)
        self.drop_path = DropPath(drop_path) if drop_path > 0.0 else nn.Identity()
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = Mlp(dim, int(dim * mlp_ratio), 0.1)

    def forward(self, x):
        x = x + self.drop_path(self.attn(self.norm1(x)))
        x = x + self.drop_path(self.mlp(self.norm2(x)))
        return x


class PatchEmbed(nn.Module):
    def __init__(self, img_size=32, patch_size=8, dim=12):
        super().__init__()
        self.img_size = (img_size, img_size)
        self.num_patches = (img_size // patch_size) ** 2
        self.proj = nn.Conv2d(3, dim, kernel_size=patch_size, stride=patch_size)

    def forward(self, x):
        B, C, H, W = x.shape
        assert H == self.img_size[0] and W == self.img_size[1], \
            f"Input image size ({H}*{W}) doesn't match model ({self.img_size[0]}*{self.img_size[1]})."
        return self.proj(x).flatten(2).transpose(1, 2)


class VisionTransformer(nn.Module):
    """timm's."""

    def __init__(self, dim=12, depth=2):
        super().__init__()
        self.patch_embed = PatchEmbed(dim=dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.randn(1, self.patch_embed.num_patches + 1, dim) * 0.02)
        self.pos_drop = nn.Dropout(p=0.1)
        rates = [x.item() for x in torch.linspace(0, 0.2, depth)]
        self.blocks = nn.Sequential(*[Block(dim, 2, drop_path=rates[i]) for i in range(depth)])
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.head = nn.Linear(dim, CLASSES)

    def forward_features(self, x):
        x = self.patch_embed(x)
        cls_token = self.cls_token.expand(x.shape[0], -1, -1)
        x = torch.cat((cls_token, x), dim=1)
        x = self.pos_drop(x + self.pos_embed)
        x = self.blocks(x)
        return self.norm(x)[:, 0]

    def forward(self, x):
        return self.head(self.forward_features(x))


class EncoderBlock(nn.Module):
    """torchvision's, with torch's own attention."""

    def __init__(self, num_heads, hidden_dim, mlp_dim, dropout=0.1):
        super().__init__()
        self.ln_1 = nn.LayerNorm(hidden_dim, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(hidden_dim, num_heads, dropout=dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = nn.LayerNorm(hidden_dim, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(hidden_dim, mlp_dim), nn.GELU(), nn.Dropout(dropout),
                                 nn.Linear(mlp_dim, hidden_dim), nn.Dropout(dropout))

    def forward(self, input: Tensor):
        torch._assert(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        x = self.ln_1(input)
        x, _ = self.self_attention(query=x, key=x, value=x, need_weights=False)
        x = self.dropout(x)
        x = x + input
        return x + self.mlp(self.ln_2(x))


class AttentionViT(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.image_size, self.patch_size, self.hidden_dim = 32, 8, dim
        self.conv_proj = nn.Conv2d(3, dim, 8, 8)
        self.class_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embedding = nn.Parameter(torch.empty(1, 17, dim).normal_(std=0.02))
        self.layers = nn.Sequential(EncoderBlock(2, dim, 24), EncoderBlock(3, dim, 24))
        self.ln = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, CLASSES)

    def _process_input(self, x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        p = self.patch_size
        torch._assert(h == self.image_size, f"Wrong image height! Expected {self.image_size} but got {h}!")
        torch._assert(w == self.image_size, f"Wrong image width! Expected {self.image_size} but got {w}!")
        n_h = h // p
        n_w = w // p
        x = self.conv_proj(x)
        x = x.reshape(n, self.hidden_dim, n_h * n_w)
        return x.permute(0, 2, 1)

    def forward(self, x: Tensor):
        x = self._process_input(x)
        n = x.shape[0]
        batch_class_token = self.class_token.expand(n, -1, -1)
        x = torch.cat([batch_class_token, x], dim=1)
        x = self.ln(self.layers(x + self.pos_embedding))
        return self.head(x[:, 0])


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=50):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0).transpose(0, 1))

    def forward(self, x):
        x = x + self.pe[: x.size(0), :]
        return self.dropout(x)


class TransformerModel(nn.Module):
    """The tutorial's language model."""

    def __init__(self, dim=8):
        super().__init__()
        self.ninp = dim
        self.pos_encoder = PositionalEncoding(dim)
        self.transformer_encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(dim, 2, 16, 0.1), 2)
        self.encoder = nn.Embedding(VOCABULARY, dim)
        self.decoder = nn.Linear(dim, VOCABULARY)

    def generate_square_subsequent_mask(self, sz: int) -> Tensor:
        mask = (torch.triu(torch.ones(sz, sz)) == 1).transpose(0, 1)
        return mask.float().masked_fill(mask == 0, float("-inf")).masked_fill(mask == 1, float(0.0))

    def forward(self, src):
        mask = self.generate_square_subsequent_mask(len(src)).to(src.device)
        src = self.pos_encoder(self.encoder(src) * math.sqrt(self.ninp))
        output = self.transformer_encoder(src, mask)
        return F.log_softmax(self.decoder(output), dim=-1)


class EncoderLayerClassifier(nn.Module):
    """A transformer's layer by itself, batches first."""

    def __init__(self, dim=8):
        super().__init__()
        self.embed = nn.Linear(6, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 16, 0.1, activation="gelu", batch_first=True, norm_first=True)
        self.head = nn.Linear(dim, CLASSES)

    def forward(self, x):
        return self.head(self.layer(self.embed(x)).mean(dim=1))


class LSTMLanguageModel(nn.Module):
    def __init__(self, ninp=8, nhid=10, nlayers=2, dropout=0.3):
        super().__init__()
        self.ntoken = VOCABULARY
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(VOCABULARY, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, VOCABULARY)
        self.init_weights()

    def init_weights(self):
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, input: Tensor,
                hidden: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        output = self.drop(output)
        decoded = self.decoder(output)
        decoded = decoded.view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden


class StatefulLSTM(nn.Module):
    """Hidden states as tensors, one element after the other."""

    def __init__(self, nhid=10):
        super().__init__()
        self.nhid = nhid
        self.nlayers = 2
        self.encoder = nn.Embedding(VOCABULARY, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, nhid, num_layers=2, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * nhid, 1)

    def init_hidden(self, bsz: int) -> Tuple[Tensor, Tensor]:
        weight = self.encoder.weight
        return (weight.new_zeros(2 * self.nlayers, bsz, self.nhid), weight.new_zeros(2 * self.nlayers, bsz, self.nhid))

    def forward(self, text):
        h0, c0 = self.init_hidden(text.size(0))
        output, (hidden, cell) = self.lstm(self.encoder(text), (h0, c0))
        hidden = torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1)
        return torch.sigmoid(self.fc(hidden)).squeeze(1)


class BiLSTMTagger(nn.Module):
    """Starts from zeros of its own making."""

    def __init__(self, nhid=10):
        super().__init__()
        self.nhid = nhid
        self.encoder = nn.Embedding(VOCABULARY, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, nhid, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * nhid, 1)

    def forward(self, text):
        embedded = self.encoder(text)
        h0 = torch.zeros(2, text.size(0), self.nhid).to(embedded.device)
        c0 = torch.zeros(2, text.size(0), self.nhid, device=text.device)
        output, (hidden, cell) = self.lstm(embedded, (h0, c0))
        hidden = torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1)
        return torch.sigmoid(self.fc(hidden)).squeeze(1)


class TiedLanguageModel(nn.Module):
    """The decoder's weights are the embedding's."""

    def __init__(self, nhid=8):
        super().__init__()
        self.encoder = nn.Embedding(VOCABULARY, nhid)
        self.rnn = nn.GRU(nhid, nhid)
        self.decoder = nn.Linear(nhid, VOCABULARY)
        self.decoder.weight = self.encoder.weight

    def forward(self, input):
        output, _ = self.rnn(self.encoder(input))
        return self.decoder(output)


class CharGRU(nn.Module):
    """Steps through its cell by hand, and takes its hidden state."""

    def __init__(self, nhid=8):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, 6)
        self.gru = nn.GRU(6, nhid, batch_first=True)
        self.i2o = nn.Sequential(nn.Linear(nhid, 12), nn.Tanh(), nn.Linear(12, VOCABULARY))

    def forward(self, tokens, hidden):
        out, hidden = self.gru(self.embed(tokens), hidden)
        return self.i2o(out[:, -1, :]), hidden


class DCGANGenerator(nn.Module):
    def __init__(self, nz=6, ngf=4, nc=3):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 4),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, nc, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class DCGANDiscriminator(nn.Module):
    def __init__(self, ndf=4, nc=3):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )
        self.apply(self.weights_init)

    @staticmethod
    def weights_init(m):
        if m.__class__.__name__.find("Conv") != -1:
            nn.init.normal_(m.weight, 0.0, 0.1)

    def forward(self, input):
        output = self.main(input)
        return output.view(-1, 1).squeeze(1)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 20)
        self.fc21 = nn.Linear(20, 4)
        self.fc22 = nn.Linear(20, 4)
        self.fc3 = nn.Linear(4, 20)
        self.fc4 = nn.Linear(20, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


class ConvVAE(nn.Module):
    """Samples while it trains."""

    def __init__(self, latent_dim=4):
        super().__init__()
        modules = []
        channels = 3
        for width in [6, 8]:
            modules.append(nn.Sequential(nn.Conv2d(channels, width, 3, stride=2, padding=1), nn.BatchNorm2d(width),
                                         nn.LeakyReLU()))
            channels = width
        self.encoder = nn.Sequential(*modules)
        self.fc_mu = nn.Linear(8 * 16, latent_dim)
        self.fc_var = nn.Linear(8 * 16, latent_dim)
        self.decoder_input = nn.Linear(latent_dim, 8 * 16)
        self.decoder = nn.Sequential(
            nn.Sequential(nn.ConvTranspose2d(8, 6, 3, 2, 1, 1), nn.BatchNorm2d(6), nn.LeakyReLU()),
            nn.ConvTranspose2d(6, 3, kernel_size=3, stride=2, padding=1, output_padding=1), nn.Tanh())

    def encode(self, input: Tensor) -> List[Tensor]:
        result = torch.flatten(self.encoder(input), start_dim=1)
        return [self.fc_mu(result), self.fc_var(result)]

    def decode(self, z: Tensor) -> Tensor:
        return self.decoder(self.decoder_input(z).view(-1, 8, 4, 4))

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        if self.training:
            std = logvar.mul(0.5).exp_()
            eps = torch.empty_like(std).normal_()
            return eps.mul(std).add_(mu)
        else:
            return mu

    def forward(self, input: Tensor) -> List[Tensor]:
        mu, log_var = self.encode(input)
        z = self.reparameterize(mu, log_var)
        return [self.decode(z), input, mu, log_var]


class SuperResolutionNet(nn.Module):
    """ESPCN."""

    def __init__(self, upscale_factor=2):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 8, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(8, 8, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(8, upscale_factor ** 2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        nn.init.orthogonal_(self.conv1.weight, nn.init.calculate_gain("relu"))

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        return self.pixel_shuffle(self.conv3(x))


class SRResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(channels)
        self.prelu = nn.PReLU()
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        residual = self.bn2(self.conv2(self.prelu(self.bn1(self.conv1(x)))))
        return x + residual * 0.1


class SRResNet(nn.Module):
    def __init__(self, scale_factor=4):
        super().__init__()
        upsample_block_num = int(math.log(scale_factor, 2))
        self.scale_factor = scale_factor
        self.block1 = nn.Sequential(nn.Conv2d(3, 6, 5, padding=2), nn.PReLU())
        self.blocks = nn.ModuleList([SRResidualBlock(6) for _ in range(2)])
        self.upsample = nn.Sequential(*[nn.Sequential(nn.Conv2d(6, 24, 3, padding=1), nn.PixelShuffle(2), nn.PReLU())
                                        for _ in range(upsample_block_num)])
        self.last = nn.Conv2d(6, 3, 5, padding=2)

    def forward(self, x):
        base = F.interpolate(x, scale_factor=float(self.scale_factor), mode="bicubic", align_corners=False)
        first = self.block1(x)
        out = first
        for block in self.blocks:
            out = block(out)
        out = self.last(self.upsample(out + first)) + base
        return (torch.tanh(out) + 1) / 2


class DoubleConv(nn.Module):
    def __init__(self, in_channels, out_channels, mid_channels=None):
        super().__init__()
        if not mid_channels:
            mid_channels = out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, in_channels, out_channels, bilinear):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        # input is CHW
        diffY = x2.size()[2] - x1.size()[2]
        diffX = x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diffX // 2, diffX - diffX // 2, diffY // 2, diffY - diffY // 2])
        x = torch.cat([x2, x1], dim=1)
        return self.conv(x)


class UNet(nn.Module):
    def __init__(self, bilinear):
        super().__init__()
        factor = 2 if bilinear else 1
        self.inc = DoubleConv(3, 4)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(4, 8))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(8, 16 // factor))
        self.up1 = Up(16, 8 // factor, bilinear)
        self.up2 = Up(8, 4, bilinear)
        self.outc = nn.Conv2d(4, 2, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.up1(x3, x2)
        x = self.up2(x, x1)
        return self.outc(x)


class NestedUNet(nn.Module):
    """Brings features to the size of others."""

    def __init__(self):
        super().__init__()
        self.encoders = nn.ModuleList([DoubleConv(3, 4), DoubleConv(4, 6), DoubleConv(6, 8)])
        self.decoders = nn.ModuleList([DoubleConv(14, 6), DoubleConv(10, 4)])
        self.final = nn.Conv2d(4, 1, 1)

    def forward(self, x):
        skips: List[Tensor] = []
        for encoder in self.encoders:
            x = encoder(x)
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = skips.pop()
        for decoder in self.decoders:
            skip = skips.pop()
            x = F.interpolate(x, size=skip.shape[2:], mode="bilinear", align_corners=False)
            x = decoder(torch.cat([x, skip], dim=1))
        return self.final(x)


MODELS = {
    "vit": VisionTransformer,
    "vit_attention": AttentionViT,
    "transformer": TransformerModel,
    "encoder_layer": EncoderLayerClassifier,
    "lstm_language_model": LSTMLanguageModel,
    "stateful_lstm": StatefulLSTM,
    "bilstm_tagger": BiLSTMTagger,
    "tied_language_model": TiedLanguageModel,
    "char_gru": CharGRU,
    "dcgan_generator": DCGANGenerator,
    "dcgan_discriminator": DCGANDiscriminator,
    "vae": VAE,
    "conv_vae": ConvVAE,
    "super_resolution": SuperResolutionNet,
    "srresnet": SRResNet,
    "unet": lambda: UNet(bilinear=False),
    "unet_bilinear": lambda: UNet(bilinear=True),
    "nested_unet": NestedUNet,
}
