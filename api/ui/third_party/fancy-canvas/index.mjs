export { size, equalSizes } from "./size.mjs";
export { bindTo as bindCanvasElementBitmapSizeTo, } from "./canvas-element-bitmap-size.mjs";
export { CanvasRenderingTarget2D, createCanvasRenderingTarget2D, tryCreateCanvasRenderingTarget2D, } from "./canvas-rendering-target.mjs";
