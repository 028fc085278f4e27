// A port of matmul_reference.mlir as another front end might write it: prefixed, numbered, wrapped, the trip
// count computed by hand. Three things went wrong on the way; tileir-diff finds them.
cuda_tile.module @ported {
  cuda_tile.entry @matmul_kernel(%a: !cuda_tile.tile<!cuda_tile.ptr<f16>>, %a0: tile<i32>, %a1: tile<i32>,
      %as0: tile<i32>, %as1: tile<i32>, %b: tile<ptr<f16>>, %b0: tile<i32>, %b1: tile<i32>, %bs0: tile<i32>,
      %bs1: tile<i32>, %c: tile<ptr<f16>>, %c0: tile<i32>, %c1: tile<i32>, %cs0: tile<i32>, %cs1: tile<i32>) {
    %zero = cuda_tile.constant <i32: 0> : tile<i32>
    %one = cuda_tile.constant <i32: 1> : tile<i32>
    %step = cuda_tile.constant <i32: 64> : tile<i32>
    %acc = cuda_tile.constant <f32: 0x00000000> : tile<128x128xf32>
    %token = cuda_tile.make_token : token
    %pa = assume #cuda_tile.div_by<16>, %a : tile<ptr<f16>>
    %pb = assume #cuda_tile.div_by<16>, %b : tile<ptr<f16>>
    %pc = assume #cuda_tile.div_by<16>, %c : tile<ptr<f16>>
    %m = assume bounded<0, ?>, %a0 : tile<i32>
    %ka = assume bounded<0, ?>, %a1 : tile<i32>
    %k = assume div_by<16>, %ka : tile<i32>
    %lda0 = assume bounded<0, ?>, %as0 : tile<i32>
    %lda = assume div_by<16>, %lda0 : tile<i32>
    %kb0 = assume bounded<0, ?>, %b0 : tile<i32>
    %n0 = assume bounded<0, ?>, %b1 : tile<i32>
    %n = assume div_by<16>, %n0 : tile<i32>
    %ldb0 = assume bounded<0, ?>, %bs0 : tile<i32>
    %ldb = assume div_by<16>, %ldb0 : tile<i32>
    %mc = assume bounded<0, ?>, %c0 : tile<i32>
    %nc0 = assume bounded<0, ?>, %c1 : tile<i32>
    %nc = assume div_by<16>, %nc0 : tile<i32>
    %ldc0 = assume bounded<0, ?>, %cs0 : tile<i32>
    %ldc = assume div_by<16>, %ldc0 : tile<i32>
    %x, %y, %z = get_tile_block_id : tile<i32>
    %ta = make_tensor_view %pa, shape = [%m, %k], strides = [%lda, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %tb = make_tensor_view %pb, shape = [%kb0, %n], strides = [%ldb, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %tc = make_tensor_view %pc, shape = [%mc, %nc], strides = [%ldc, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %va = make_partition_view %ta : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
    %vb = make_partition_view %tb : partition_view<tile=(64x128), tensor_view<?x?xf16, strides=[?,1]>>
    %vc = make_partition_view %tc : partition_view<tile=(128x128), tensor_view<?x?xf16, strides=[?,1]>>
    %trips = divi %k, %step signed rounding<positive_inf> : tile<i32>
    %sum = for %i in (%zero to %trips, step %one) : tile<i32> iter_values(%s = %acc) -> (tile<128x128xf32>) {
      %l, %t0 = load_view_tko weak %va[%x, %i] token = %token optimization_hints = <sm_100 = {latency = 1}>
        : partition_view<tile=(128x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<128x64xf16>, token
      %r, %t1 = load_view_tko weak %vb[%i, %y] token = %token
        : partition_view<tile=(64x128), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<64x128xf16>, token
      %p = mmaf %l, %r, %s : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>
      continue %p : tile<128x128xf32>
    }
    %out = ftof %sum rounding<zero> : tile<128x128xf32> -> tile<128x128xf16>
    %done = store_view_tko weak %out, %vc[%x, %y] token = %token
      : tile<128x128xf16>, partition_view<tile=(128x128), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> token
    return
  }
}
