# Writes OUTPUT: an initialiser {file name, text} for every FOLDER/*.wf and *.cpp.
file(GLOB files ${FOLDER}/*.wf ${FOLDER}/*.cpp)
set(text "")
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  file(READ ${file} content)
  string(APPEND text "{\"${name}\", R\"WEFTFLOW(${content})WEFTFLOW\"},\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
