# cmake -DROOT=.. -DBUILD=.. -DTARGET=.. -DEXERCISE=.. -DOUT=.. -P: writes the source OUT, which tells the program TARGET
# the text of the file EXERCISE that it is built from (lessons/kit/built.h).
file(READ "${EXERCISE}" bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE "${OUT}" "#include \"lessons/kit/built.h\"
static const unsigned char text[] = {${bytes}0};
static const pg::kit::RegisterBuilt built(R\"(${ROOT})\", R\"(${BUILD})\", \"${TARGET}\", R\"(${OUT})\",
                                          {reinterpret_cast<const char*>(text), sizeof text - 1});
")
