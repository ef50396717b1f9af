"""Image classifiers as their authors write them, scaled down: 3 x 32 x 32 images, a handful of channels.

Plain torch, and the idioms that each family is known for.
"""

from collections import namedtuple
from functools import partial
from typing import Callable, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CLASSES = 7


class AlexNet(nn.Module):
    def __init__(self, dropout=0.5):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, kernel_size=5, stride=2, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(8, 12, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(12, 8, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((3, 3))
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout),
            nn.Linear(8 * 3 * 3, 32),
            nn.ReLU(inplace=True),
            nn.Dropout(p=dropout),
            nn.Linear(32, CLASSES),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.features(x)
        x = self.avgpool(x)
        x = torch.flatten(x, 1)
        return self.classifier(x)


class VGG(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.features = self._make_layers(config)
        self.classifier = nn.Linear(16, CLASSES)

    def forward(self, x):
        out = self.features(x)
        out = out.view(out.size(0), -1)
        return self.classifier(out)

    def _make_layers(self, config):
        layers = []
        channels = 3
        for width in config:
            if width == "M":
                layers += [nn.MaxPool2d(kernel_size=2, stride=2)]
            else:
                layers += [nn.Conv2d(channels, width, kernel_size=3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
                channels = width
        layers += [nn.AvgPool2d(kernel_size=1, stride=1)]
        return nn.Sequential(*layers)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inplanes, planes, stride=1, downsample: Optional[nn.Module] = None):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inplanes, planes, stride=1, downsample: Optional[nn.Module] = None):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, planes * self.expansion, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(planes * self.expansion)
        self.downsample = downsample

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = F.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += self.downsample(x) if self.downsample is not None else x
        return F.relu(out)


class ResNet(nn.Module):
    def __init__(self, block, depths: List[int]):
        super().__init__()
        self.inplanes = 8
        self.conv1 = nn.Conv2d(3, 8, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 8, depths[0])
        self.layer2 = self._make_layer(block, 16, depths[1], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16 * block.expansion, CLASSES)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def _make_layer(self, block, planes, blocks, stride=1):
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                nn.Conv2d(self.inplanes, planes * block.expansion, 1, stride, bias=False),
                nn.BatchNorm2d(planes * block.expansion),
            )
        layers = [block(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes * block.expansion
        for _ in range(1, blocks):
            layers.append(block(self.inplanes, planes))
        return nn.Sequential(*layers)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer2(self.layer1(x))
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


class DenseLayer(nn.Module):
    def __init__(self, channels, growth_rate, drop_rate):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(channels, 4 * growth_rate, kernel_size=1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth_rate)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(4 * growth_rate, growth_rate, kernel_size=3, padding=1, bias=False)
        self.drop_rate = float(drop_rate)

    def bn_function(self, inputs: List[Tensor]) -> Tensor:
        return self.conv1(self.relu1(self.norm1(torch.cat(inputs, 1))))

    def forward(self, input: List[Tensor]) -> Tensor:
        out = self.conv2(self.relu2(self.norm2(self.bn_function(input))))
        if self.drop_rate > 0:
            out = F.dropout(out, p=self.drop_rate, training=self.training)
        return out


class DenseBlock(nn.ModuleDict):
    def __init__(self, layers, channels, growth_rate, drop_rate):
        super().__init__()
        for i in range(layers):
            self.add_module(f"denselayer{i + 1}", DenseLayer(channels + i * growth_rate, growth_rate, drop_rate))

    def forward(self, init_features: Tensor) -> Tensor:
        features = [init_features]
        for name, layer in self.items():
            features.append(layer(features))
        return torch.cat(features, 1)


class Transition(nn.Sequential):
    def __init__(self, channels, out_channels):
        super().__init__()
        self.add_module("norm", nn.BatchNorm2d(channels))
        self.add_module("relu", nn.ReLU(inplace=True))
        self.add_module("conv", nn.Conv2d(channels, out_channels, kernel_size=1, bias=False))
        self.add_module("pool", nn.AvgPool2d(kernel_size=2, stride=2))


class DenseNet(nn.Module):
    def __init__(self, growth_rate=4, drop_rate=0.2):
        super().__init__()
        self.features = nn.Sequential()
        self.features.add_module("conv0", nn.Conv2d(3, 8, 3, 2, 1, bias=False))
        self.features.add_module("denseblock1", DenseBlock(3, 8, growth_rate, drop_rate))
        self.features.add_module("transition1", Transition(8 + 3 * growth_rate, 10))
        self.features.add_module("denseblock2", DenseBlock(2, 10, growth_rate, drop_rate))
        self.features.add_module("norm5", nn.BatchNorm2d(10 + 2 * growth_rate))
        self.classifier = nn.Linear(10 + 2 * growth_rate, CLASSES)

    def forward(self, x):
        features = self.features(x)
        out = F.relu(features, inplace=True)
        out = F.adaptive_avg_pool2d(out, (1, 1))
        out = torch.flatten(out, 1)
        return self.classifier(out)


class BasicConv2d(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, **kwargs):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        x = self.bn(x)
        return F.relu(x, inplace=True)


class InceptionBlock(nn.Module):
    def __init__(self, channels, ch1x1, ch3x3red, ch3x3, ch5x5red, ch5x5, pool_proj):
        super().__init__()
        self.branch1 = BasicConv2d(channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(BasicConv2d(channels, ch3x3red, kernel_size=1),
                                     BasicConv2d(ch3x3red, ch3x3, kernel_size=3, padding=1))
        self.branch3 = nn.Sequential(BasicConv2d(channels, ch5x5red, kernel_size=1),
                                     BasicConv2d(ch5x5red, ch5x5, kernel_size=3, padding=1))
        self.branch4 = nn.Sequential(nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True),
                                     BasicConv2d(channels, pool_proj, kernel_size=1))

    def _forward(self, x: Tensor) -> List[Tensor]:
        return [self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)]

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat(self._forward(x), 1)


class InceptionAux(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = BasicConv2d(channels, 4, kernel_size=1)
        self.fc1 = nn.Linear(4 * 4 * 4, 12)
        self.fc2 = nn.Linear(12, CLASSES)
        self.dropout = nn.Dropout(p=0.7)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(F.adaptive_avg_pool2d(x, (4, 4)))
        x = torch.flatten(x, 1)
        x = self.dropout(F.relu(self.fc1(x), inplace=True))
        return self.fc2(x)


GoogLeNetOutputs = namedtuple("GoogLeNetOutputs", ["logits", "aux_logits2", "aux_logits1"])
GoogLeNetOutputs.__annotations__ = {"logits": Tensor, "aux_logits2": Optional[Tensor], "aux_logits1": Optional[Tensor]}


class GoogLeNet(nn.Module):
    __constants__ = ["aux_logits", "transform_input"]

    def __init__(self, aux_logits=True, transform_input=True):
        super().__init__()
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.conv1 = BasicConv2d(3, 8, kernel_size=3, stride=2, padding=1)
        self.inception3a = InceptionBlock(8, 4, 4, 6, 2, 4, 4)
        self.maxpool = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.inception4a = InceptionBlock(18, 4, 4, 6, 2, 4, 4)
        if aux_logits:
            self.aux1 = InceptionAux(18)
            self.aux2 = InceptionAux(18)
        else:
            self.aux1 = None
            self.aux2 = None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=0.2)
        self.fc = nn.Linear(18, CLASSES)

    def _transform_input(self, x: Tensor) -> Tensor:
        if self.transform_input:
            x_ch0 = torch.unsqueeze(x[:, 0], 1) * (0.229 / 0.5) + (0.485 - 0.5) / 0.5
            x_ch1 = torch.unsqueeze(x[:, 1], 1) * (0.224 / 0.5) + (0.456 - 0.5) / 0.5
            x_ch2 = torch.unsqueeze(x[:, 2], 1) * (0.225 / 0.5) + (0.406 - 0.5) / 0.5
            x = torch.cat((x_ch0, x_ch1, x_ch2), 1)
        return x

    def _forward(self, x: Tensor) -> Tuple[Tensor, Optional[Tensor], Optional[Tensor]]:
        x = self.maxpool(self.inception3a(self.conv1(x)))
        aux1: Optional[Tensor] = None
        if self.aux1 is not None:
            if self.training:
                aux1 = self.aux1(x)
        x = self.inception4a(x)
        aux2: Optional[Tensor] = None
        if self.aux2 is not None:
            if self.training:
                aux2 = self.aux2(x)
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(self.dropout(x)), aux2, aux1

    @torch.jit.unused
    def eager_outputs(self, x: Tensor, aux2: Tensor, aux1: Optional[Tensor]):
        return x

    def forward(self, x: Tensor) -> GoogLeNetOutputs:
        x = self._transform_input(x)
        x, aux2, aux1 = self._forward(x)
        if torch.jit.is_scripting():
            return GoogLeNetOutputs(x, aux2, aux1)
        else:
            return self.eager_outputs(x, aux2, aux1)


class InceptionC(nn.Module):
    """Inception v3's, with factorised convolutions."""

    def __init__(self, channels, channels_7x7, conv_block: Optional[Callable[..., nn.Module]] = None):
        super().__init__()
        if conv_block is None:
            conv_block = BasicConv2d
        c7 = channels_7x7
        self.branch1x1 = conv_block(channels, 6, kernel_size=1)
        self.branch7x7_1 = conv_block(channels, c7, kernel_size=1)
        self.branch7x7_2 = conv_block(c7, c7, kernel_size=(1, 7), padding=(0, 3))
        self.branch7x7_3 = conv_block(c7, 6, kernel_size=(7, 1), padding=(3, 0))
        self.branch_pool = conv_block(channels, 6, kernel_size=1)

    def _forward(self, x: Tensor) -> List[Tensor]:
        branch1x1 = self.branch1x1(x)
        branch7x7 = self.branch7x7_1(x)
        branch7x7 = self.branch7x7_2(branch7x7)
        branch7x7 = self.branch7x7_3(branch7x7)
        branch_pool = F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)
        branch_pool = self.branch_pool(branch_pool)
        outputs = [branch1x1, branch7x7, branch_pool]
        return outputs

    def forward(self, x: Tensor) -> Tensor:
        outputs = self._forward(x)
        return torch.cat(outputs, 1)


class InceptionE(nn.Module):
    """Branches within branches."""

    def __init__(self, channels):
        super().__init__()
        self.branch3x3_1 = BasicConv2d(channels, 6, kernel_size=1)
        self.branch3x3_2a = BasicConv2d(6, 6, kernel_size=(1, 3), padding=(0, 1))
        self.branch3x3_2b = BasicConv2d(6, 6, kernel_size=(3, 1), padding=(1, 0))
        self.branch3x3 = BasicConv2d(channels, 8, kernel_size=3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        branch3x3 = self.branch3x3_1(x)
        branch3x3 = [self.branch3x3_2a(branch3x3), self.branch3x3_2b(branch3x3)]
        branch3x3 = torch.cat(branch3x3, 1)
        branch_pool = F.max_pool2d(x, kernel_size=3, stride=2)
        pooled = F.max_pool2d(branch3x3, 3, 2)
        return torch.cat([self.branch3x3(x), pooled, branch_pool], 1)


class Inception3(nn.Module):
    def __init__(self):
        super().__init__()
        self.Conv2d_1a_3x3 = BasicConv2d(3, 8, kernel_size=3, stride=2)
        self.Mixed_6b = InceptionC(8, 6)
        self.Mixed_7b = InceptionE(18)
        self.dropout = nn.Dropout()
        self.fc = nn.Linear(38, CLASSES)
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(m.weight, mean=0.0, std=0.1, a=-2, b=2)

    def forward(self, x):
        x = self.Mixed_7b(self.Mixed_6b(self.Conv2d_1a_3x3(x)))
        x = F.adaptive_avg_pool2d(x, 1)
        x = self.dropout(x)
        x = x.view(x.shape[0], -1)
        return self.fc(x)


class ConvBNReLU(nn.Sequential):
    def __init__(self, in_planes, out_planes, kernel_size=3, stride=1, groups=1, norm_layer=nn.BatchNorm2d, act=nn.ReLU6):
        super().__init__(
            nn.Conv2d(in_planes, out_planes, kernel_size, stride, (kernel_size - 1) // 2, groups=groups, bias=False),
            norm_layer(out_planes),
            act(inplace=True),
        )
        self.out_channels = out_planes


class InvertedResidual(nn.Module):
    def __init__(self, inp, oup, stride, expand_ratio):
        super().__init__()
        assert stride in [1, 2]
        hidden_dim = int(round(inp * expand_ratio))
        self.use_res_connect = stride == 1 and inp == oup
        layers: List[nn.Module] = []
        if expand_ratio != 1:
            layers.append(ConvBNReLU(inp, hidden_dim, kernel_size=1))
        layers.extend([
            ConvBNReLU(hidden_dim, hidden_dim, stride=stride, groups=hidden_dim),
            nn.Conv2d(hidden_dim, oup, 1, 1, 0, bias=False),
            nn.BatchNorm2d(oup),
        ])
        self.conv = nn.Sequential(*layers)

    def forward(self, x):
        if self.use_res_connect:
            return x + self.conv(x)
        else:
            return self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self):
        super().__init__()
        features: List[nn.Module] = [ConvBNReLU(3, 8, stride=2)]
        channels = 8
        for t, c, n, s in [[1, 8, 1, 1], [4, 12, 2, 2], [4, 16, 2, 1]]:
            for i in range(n):
                features.append(InvertedResidual(channels, c, s if i == 0 else 1, t))
                channels = c
        features.append(ConvBNReLU(channels, 24, kernel_size=1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(24, CLASSES))

    def forward(self, x):
        x = self.features(x)
        x = x.mean([2, 3])
        return self.classifier(x)


class SqueezeExcitation(nn.Module):
    def __init__(self, channels, squeeze, activation=nn.ReLU, scale_activation=nn.Sigmoid):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(channels, squeeze, 1)
        self.fc2 = nn.Conv2d(squeeze, channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def _scale(self, input: Tensor) -> Tensor:
        scale = self.avgpool(input)
        scale = self.activation(self.fc1(scale))
        return self.scale_activation(self.fc2(scale))

    def forward(self, input: Tensor) -> Tensor:
        scale = self._scale(input)
        return scale * input


class MobileNetV3Block(nn.Module):
    def __init__(self, channels, expanded, out, stride, use_se, use_hs):
        super().__init__()
        norm_layer = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        act = nn.Hardswish if use_hs else nn.ReLU
        self.use_res_connect = stride == 1 and channels == out
        layers: List[nn.Module] = [ConvBNReLU(channels, expanded, 1, norm_layer=norm_layer, act=act),
                                   ConvBNReLU(expanded, expanded, 3, stride, expanded, norm_layer, act)]
        if use_se:
            layers.append(SqueezeExcitation(expanded, 4, scale_activation=nn.Hardsigmoid))
        layers.append(nn.Conv2d(expanded, out, 1, bias=False))
        layers.append(norm_layer(out))
        self.block = nn.Sequential(*layers)

    def forward(self, input: Tensor) -> Tensor:
        result = self.block(input)
        if self.use_res_connect:
            result += input
        return result


class MobileNetV3(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            ConvBNReLU(3, 8, stride=2, act=nn.Hardswish),
            MobileNetV3Block(8, 12, 8, 1, True, False),
            MobileNetV3Block(8, 16, 12, 2, False, True),
            MobileNetV3Block(12, 24, 12, 1, True, True),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(12, 16), nn.Hardswish(inplace=True), nn.Dropout(p=0.2, inplace=True), nn.Linear(16, CLASSES))

    def forward(self, x):
        x = self.avgpool(self.features(x))
        x = torch.flatten(x, 1)
        return self.classifier(x)


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    batchsize, num_channels, height, width = x.size()
    channels_per_group = num_channels // groups
    x = x.view(batchsize, groups, channels_per_group, height, width)
    x = torch.transpose(x, 1, 2).contiguous()
    x = x.view(batchsize, -1, height, width)
    return x


class ShuffleUnit(nn.Module):
    def __init__(self, inp: int, oup: int, stride: int):
        super().__init__()
        self.stride = stride
        features = oup // 2
        if self.stride > 1:
            self.branch1 = nn.Sequential(
                self.depthwise_conv(inp, inp, 3, self.stride, 1), nn.BatchNorm2d(inp),
                nn.Conv2d(inp, features, 1, bias=False), nn.BatchNorm2d(features), nn.ReLU(inplace=True))
        else:
            self.branch1 = nn.Sequential()
        self.branch2 = nn.Sequential(
            nn.Conv2d(inp if self.stride > 1 else features, features, 1, bias=False), nn.BatchNorm2d(features),
            nn.ReLU(inplace=True),
            self.depthwise_conv(features, features, 3, self.stride, 1), nn.BatchNorm2d(features),
            nn.Conv2d(features, features, 1, bias=False), nn.BatchNorm2d(features), nn.ReLU(inplace=True))

    @staticmethod
    def depthwise_conv(i: int, o: int, kernel_size: int, stride: int = 1, padding: int = 0) -> nn.Conv2d:
        return nn.Conv2d(i, o, kernel_size, stride, padding, bias=False, groups=i)

    def forward(self, x: Tensor) -> Tensor:
        if self.stride == 1:
            x1, x2 = x.chunk(2, dim=1)
            out = torch.cat((x1, self.branch2(x2)), dim=1)
        else:
            out = torch.cat((self.branch1(x), self.branch2(x)), dim=1)
        out = channel_shuffle(out, 2)
        return out


class ShuffleNetV2(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.stage2: nn.Sequential
        self.stage3: nn.Sequential
        channels = 8
        for name, repeats, out in [("stage2", 2, 16), ("stage3", 3, 24)]:
            seq = [ShuffleUnit(channels, out, 2)]
            for _ in range(repeats - 1):
                seq.append(ShuffleUnit(out, out, 1))
            setattr(self, name, nn.Sequential(*seq))
            channels = out
        self.fc = nn.Linear(channels, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.conv1(x))
        x = self.stage3(self.stage2(x))
        x = x.mean([2, 3])  # globalpool
        return self.fc(x)


class MnasNet(nn.Module):
    _version = 2

    def __init__(self, momentum=1 - 0.9997):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, stride=2, bias=False),
            nn.BatchNorm2d(8, momentum=momentum),
            nn.ReLU(inplace=True),
            self._stack(8, 12, 3, 2, 3, 2, momentum),
            self._stack(12, 16, 5, 2, 2, 2, momentum),
            nn.Conv2d(16, 32, 1, padding=0, stride=1, bias=False),
            nn.BatchNorm2d(32, momentum=momentum),
            nn.ReLU(inplace=True),
        )
        self.classifier = nn.Sequential(nn.Dropout(p=0.2, inplace=True), nn.Linear(32, CLASSES))

    class _InvertedResidual(nn.Module):
        def __init__(self, in_ch, out_ch, kernel_size, stride, expansion_factor, bn_momentum):
            super().__init__()
            mid_ch = in_ch * expansion_factor
            self.apply_residual = in_ch == out_ch and stride == 1
            self.layers = nn.Sequential(
                nn.Conv2d(in_ch, mid_ch, 1, bias=False),
                nn.BatchNorm2d(mid_ch, momentum=bn_momentum),
                nn.ReLU(inplace=True),
                nn.Conv2d(mid_ch, mid_ch, kernel_size, padding=kernel_size // 2, stride=stride, groups=mid_ch, bias=False),
                nn.BatchNorm2d(mid_ch, momentum=bn_momentum),
                nn.ReLU(inplace=True),
                nn.Conv2d(mid_ch, out_ch, 1, bias=False),
                nn.BatchNorm2d(out_ch, momentum=bn_momentum),
            )

        def forward(self, input: Tensor) -> Tensor:
            if self.apply_residual:
                return self.layers(input) + input
            else:
                return self.layers(input)

    def _stack(self, in_ch, out_ch, kernel_size, stride, exp_factor, repeats, bn_momentum):
        assert repeats >= 1
        first = self._InvertedResidual(in_ch, out_ch, kernel_size, stride, exp_factor, bn_momentum)
        remaining = [self._InvertedResidual(out_ch, out_ch, kernel_size, 1, exp_factor, bn_momentum)
                     for _ in range(1, repeats)]
        return nn.Sequential(first, *remaining)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layers(x)
        x = x.mean([2, 3])
        return self.classifier(x)


class Swish(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


class Conv2dStaticSamePadding(nn.Conv2d):
    """TensorFlow's "SAME" padding, for a known size of image."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, image_size=0, **kwargs):
        super().__init__(in_channels, out_channels, kernel_size, stride, **kwargs)
        pad = max((-(-image_size // stride) - 1) * stride + kernel_size - image_size, 0)
        self.static_padding = nn.ZeroPad2d((pad // 2, pad - pad // 2, pad // 2, pad - pad // 2)) if pad > 0 else nn.Identity()

    def forward(self, x):
        x = self.static_padding(x)
        return F.conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


def drop_connect(inputs: Tensor, p: float, training: bool) -> Tensor:
    if not training:
        return inputs
    batch_size = inputs.shape[0]
    keep_prob = 1 - p
    random_tensor = torch.tensor(keep_prob, dtype=inputs.dtype, device=inputs.device)
    random_tensor = random_tensor + torch.rand([batch_size, 1, 1, 1], dtype=inputs.dtype, device=inputs.device)
    binary_tensor = torch.floor(random_tensor)
    return inputs / keep_prob * binary_tensor


class MBConvBlock(nn.Module):
    def __init__(self, channels, out, stride, expand_ratio, image_size, drop_connect_rate):
        super().__init__()
        self.id_skip = True
        self.stride = stride
        self.input_filters = channels
        self.output_filters = out
        self.expand_ratio = expand_ratio
        self.drop_connect_rate: Optional[float] = drop_connect_rate
        oup = channels * expand_ratio
        if expand_ratio != 1:
            self._expand_conv = nn.Conv2d(channels, oup, 1, bias=False)
            self._bn0 = nn.BatchNorm2d(oup, momentum=0.01, eps=1e-3)
        else:
            self._expand_conv = nn.Identity()
            self._bn0 = nn.Identity()
        self._depthwise_conv = Conv2dStaticSamePadding(oup, oup, 3, stride, image_size, groups=oup, bias=False)
        self._bn1 = nn.BatchNorm2d(oup, momentum=0.01, eps=1e-3)
        self._se_reduce = nn.Conv2d(oup, 2, 1)
        self._se_expand = nn.Conv2d(2, oup, 1)
        self._project_conv = nn.Conv2d(oup, out, 1, bias=False)
        self._bn2 = nn.BatchNorm2d(out, momentum=0.01, eps=1e-3)
        self._swish = Swish()

    def forward(self, inputs: Tensor) -> Tensor:
        x = inputs
        if self.expand_ratio != 1:
            x = self._expand_conv(inputs)
            x = self._bn0(x)
            x = self._swish(x)
        x = self._depthwise_conv(x)
        x = self._swish(self._bn1(x))
        x_squeezed = F.adaptive_avg_pool2d(x, 1)
        x_squeezed = self._se_expand(self._swish(self._se_reduce(x_squeezed)))
        x = torch.sigmoid(x_squeezed) * x
        x = self._bn2(self._project_conv(x))
        if self.id_skip and self.stride == 1 and self.input_filters == self.output_filters:
            if self.drop_connect_rate is not None:
                x = drop_connect(x, p=self.drop_connect_rate, training=self.training)
            x = x + inputs
        return x


class EfficientNet(nn.Module):
    def __init__(self):
        super().__init__()
        self._conv_stem = Conv2dStaticSamePadding(3, 8, 3, 2, image_size=32, bias=False)
        self._bn0 = nn.BatchNorm2d(8, momentum=0.01, eps=1e-3)
        self._blocks = nn.ModuleList([
            MBConvBlock(8, 8, 1, 1, 16, 0.1),
            MBConvBlock(8, 12, 2, 3, 16, 0.2),
            MBConvBlock(12, 12, 1, 3, 8, 0.3),
            MBConvBlock(12, 12, 1, 3, 8, None),
        ])
        self._avg_pooling = nn.AdaptiveAvgPool2d(1)
        self._dropout = nn.Dropout(0.2)
        self._fc = nn.Linear(12, CLASSES)
        self._swish = Swish()

    def extract_features(self, inputs: Tensor) -> Tensor:
        x = self._swish(self._bn0(self._conv_stem(inputs)))
        for idx, block in enumerate(self._blocks):
            x = block(x)
        return x

    def forward(self, inputs):
        bs = inputs.size(0)
        x = self._avg_pooling(self.extract_features(inputs))
        x = x.view(bs, -1)
        return self._fc(self._dropout(x))


class RegNetBlock(nn.Module):
    def __init__(self, w_in, w_out, stride, group_width):
        super().__init__()
        self.proj: Optional[nn.Module] = None
        if w_in != w_out or stride != 1:
            self.proj = nn.Sequential(nn.Conv2d(w_in, w_out, 1, stride, bias=False), nn.BatchNorm2d(w_out))
        self.f = nn.Sequential(
            ConvBNReLU(w_in, w_out, 1, act=nn.ReLU),
            ConvBNReLU(w_out, w_out, 3, stride, w_out // group_width, act=nn.ReLU),
            SqueezeExcitation(w_out, max(1, w_in // 4)),
            nn.Conv2d(w_out, w_out, 1, bias=False),
            nn.BatchNorm2d(w_out),
        )
        self.activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        if self.proj is not None:
            x = self.proj(x) + self.f(x)
        else:
            x = x + self.f(x)
        return self.activation(x)


class RegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = ConvBNReLU(3, 8, stride=2, act=nn.ReLU)
        blocks = []
        w_in = 8
        for i, (w_out, depth) in enumerate([(8, 1), (16, 2)]):
            stage = nn.Sequential()
            for j in range(depth):
                stage.add_module(f"block{i + 1}-{j}", RegNetBlock(w_in, w_out, 2 if j == 0 else 1, 4))
                w_in = w_out
            blocks.append((f"block{i + 1}", stage))
        self.trunk_output = nn.Sequential()
        for name, stage in blocks:
            self.trunk_output.add_module(name, stage)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(in_features=w_in, out_features=CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.trunk_output(self.stem(x))
        x = self.avgpool(x)
        x = x.flatten(start_dim=1)
        return self.fc(x)


MODELS = {
    "alexnet": AlexNet,
    "vgg": lambda: VGG([8, "M", 8, "M", 12, 12, "M", 16, "M", 16, "M"]),
    "resnet": lambda: ResNet(BasicBlock, [2, 2]),
    "resnet_bottleneck": lambda: ResNet(Bottleneck, [1, 2]),
    "densenet": DenseNet,
    "googlenet": GoogLeNet,
    "inception_v3": Inception3,
    "mobilenet_v2": MobileNetV2,
    "mobilenet_v3": MobileNetV3,
    "shufflenet_v2": ShuffleNetV2,
    "mnasnet": MnasNet,
    "efficientnet": EfficientNet,
    "regnet": RegNet,
}
